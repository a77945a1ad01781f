import{a as se,b as ae}from"./part-VSTDXRMY.js";import{a as E,d as ie}from"./part-4SYAD3TA.js";import{a as ne}from"./part-EKWCSPXP.js";import{a as oe,c as re}from"./part-OJBTHIQD.js";import{a as t}from"./part-3J24DLMZ.js";import{B as y,C as ee,E as te,f as v,g as w,h,i as U,j as B,l as z,o as T,p as x,r as P,s as J,t as Y,u as A,v as K,x as I,y as X,z as Z}from"./part-H7YHPOBZ.js";import{b as V,c as k,e as q,g as W,h as G,i as C,j as Q,l as _}from"./part-J6YRKR3Z.js";import"./part-HJLQ2EQ6.js";import"./part-XVFH4FSZ.js";import{b as D,c as b,e as $,f as N,g as j,j as R}from"./part-O7RASF4W.js";import"./part-6D7OL7PE.js";var Ce={instant:{type:"datetime-local",step:1},long:{type:"text",inputmode:"numeric",placeholder:"number"},double:{type:"text",inputmode:"decimal",placeholder:"number"},keyword:{type:"text",placeholder:":keyword",spellcheck:!1},uuid:{type:"text",placeholder:"uuid",spellcheck:!1},string:{type:"text",placeholder:"text"}};function g(e){let{label:n,type:o,text:r,onChange:i,problem:l,name:a}=e,d={"aria-label":n,"aria-invalid":l?"true":void 0,"aria-describedby":l,name:a},m=s=>s.target.value;if(o==="ref")return t`<${Te} ...${e} />`;let p=U(r,o);if(o==="boolean"&&p!==void 0)return t`<select ...${d} value=${p} onChange=${s=>i(m(s))}>
      <option value="">choose</option>
      <option value="true">true</option>
      <option value="false">false</option>
    </select>`;let c=p===void 0?void 0:Ce[o??""];return c===void 0?t`<input ...${d} value=${r===v?"":r} placeholder="EDN" spellcheck=${!1} class="mono" onInput=${s=>i(m(s))} />`:t`<input ...${d} ...${c} value=${p} onInput=${s=>i(B(m(s),o))} />`}function Te({label:e,text:n,onChange:o,problem:r,name:i}){let l=W.value.filter(u=>u.unique!==null&&!/^:(db|graphql|policy)[./]/.test(u.ident)),[a,d="",...m]=w(n)??[],p=m.length===0?l.find(u=>u.ident===a):void 0,c=u=>{let f=u.target.value;o(f===""?"":h([f,""]))},s=u=>o(p?h([p.ident,u]):u);return t`<span class="lookup">
    <select aria-label=${`${e}: which attribute names it`} value=${p?.ident??""} onChange=${c}>
      <option value="">id, ident</option>
      ${l.map(({ident:u})=>t`<option key=${u} value=${u}>${u}</option>`)}
    </select>
    <${g} label=${e} type=${p?.valueType??void 0} text=${p?d:n} onChange=${s} problem=${r} name=${i} />
  </span>`}function le({field:e,text:n,onChange:o,problem:r}){let{kind:i,places:l}=e,a=xe(e,n);if(a===void 0)return t`<input class="mono" aria-label=${e.text} aria-describedby=${r} value=${n} placeholder="EDN" onInput=${c=>o(c.target.value)} />`;let d=c=>o(Fe(e,c)),m=(c,s)=>u=>d(a.map((f,F)=>F===c?f.map((ke,we)=>we===s?u:ke):f)),p=i!=="tuple";return t`
    <table class="argument-rows">
      ${i!=="list"&&t`<thead><tr>${l.map(({name:c,type:s})=>t`<th scope="col" title=${s??""}>${c}</th>`)}${p&&t`<td></td>`}</tr></thead>`}
      <tbody>
        ${a.map((c,s)=>t`<tr key=${s}>
            ${l.map(({name:u,type:f},F)=>t`<td><${g} label=${p?`${u}, row ${s+1}`:u} type=${f} text=${c[F]??""} onChange=${m(s,F)} problem=${r} /></td>`)}
            ${p&&t`<td><button type="button" class="quiet small" aria-label=${`Remove row ${s+1}`} disabled=${a.length===1} onClick=${()=>d(a.filter((u,f)=>f!==s))}>✕</button></td>`}
          </tr>`)}
      </tbody>
    </table>
    ${p&&t`<button type="button" class="quiet small" onClick=${()=>d([...a,l.map(()=>v)])}>Add ${i==="list"?"a value":"a row"}</button>`}
  `}function xe({kind:e,places:n},o){let r=n.map(()=>v);if(o.trim()==="")return[r];let i=w(o);if(i===void 0)return;if(e==="tuple")return i.length<=n.length?[[...i,...r].slice(0,n.length)]:void 0;if(e==="list")return i.length===0?[r]:i.map(a=>[a]);let l=i.map(w);if(l.every(a=>a?.length===n.length))return l.length===0?[r]:l}function Fe({kind:e},n){return n.every(o=>o.every(r=>r.trim()===""||r===v))&&n.length===1?"":e==="tuple"?h(n[0]??[]):e==="list"?h(n.map(o=>o[0]??"")):h(n.map(h))}function ue({text:e,onChange:n,onRun:o}){let r=j(()=>R(e),[]);return $(()=>{r.value=e},[e]),$(()=>r.subscribe(i=>n(i)),[n]),t`<div class="argument-rules"><${E} label="Rules" text=${r} onRun=${o} /></div>`}var de={asOfT:{title:"as of transaction",key:":as-of",type:"long"},asOf:{title:"as of instant (UTC)",key:":as-of",type:"instant"},sinceT:{title:"since transaction",key:":since",type:"long"},since:{title:"since instant (UTC)",key:":since",type:"instant"},history:{title:"all of history",key:":history",type:"true"},tuples:{title:"a list of tuples",key:"",type:void 0}};function Ee(e){if(e.trim()==="")return{way:"asOfT",value:""};let[,n,o=""]=/^\{:basis \{(:as-of|:since|:history) ?(.*)\}\}$/.exec(e)??[];if(n===void 0)return;if(n===":history")return{way:"history",value:"true"};let r=o.startsWith("#inst");return{way:n===":as-of"?r?"asOf":"asOfT":r?"since":"sinceT",value:o}}function pe({field:e,text:n,onChange:o,problem:r}){let i=Ee(n),[l,a]=b(i?.way??"tuples"),d=n===""?l:i?.way??"tuples",m=de[d],p=s=>o(s===""?"":m?.key?`{:basis {${m.key} ${s}}}`:s),c=s=>{let u=s.target.value;a(u),o(u==="history"?"{:basis {:history true}}":"")};return t`<span class="lookup">
    <select aria-label=${`${e.text}: which database`} value=${d} onChange=${c}>
      ${Object.entries(de).map(([s,{title:u}])=>t`<option key=${s} value=${s}>${u}</option>`)}
    </select>
    ${d!=="history"&&t`<${g} label=${e.text} type=${m?.type} text=${m?.key?i?.value??"":n} onChange=${p} problem=${r} />`}
  </span>`}var Re=[];function ce(e){return Re[e]??=n=>{(x.peek()[e]??"")!==n&&(x.value=I.peek().map((o,r)=>r===e?n:x.peek()[r]??""))}}function me(){let e=I.value;return e.length===0?null:t`
    <form class="arguments" aria-label="Arguments" onSubmit=${o=>{o.preventDefault(),y()}} noValidate>
      ${e.map((o,r)=>t`<${Ae} key=${`${r} ${o.kind} ${o.text}`} field=${o} i=${r} />`)}
      <button type="submit" class="hidden">Run with these arguments</button>
    </form>
  `}function Ae({field:e,i:n}){let o=x.value[n]??"",r=Z.value?X.value[n]:void 0,i=`argument-problem-${n}`,l=r?i:void 0,[a]=e.places,d={field:e,text:o,onChange:ce(n),problem:l,onRun:()=>{y()}};return t`
    <fieldset class=${`argument argument-${e.kind}`}>
      <legend><code>${e.text}</code>${e.places.length===1&&a?.type?t` <span class="note">${a.type==="instant"?"instant, UTC":a.type}</span>`:null}</legend>
      ${e.kind==="scalar"?t`<${g} label=${e.text} type=${a?.type} text=${o} onChange=${ce(n)} problem=${l} name=${`argument-${n}`} />`:e.kind==="rules"?t`<${ue} ...${d} />`:e.kind==="source"?t`<${pe} ...${d} />`:t`<${le} ...${d} />`}
      ${r&&t`<p class="argument-problem" id=${i}>${r}</p>`}
    </fieldset>
  `}function fe(){let e=J.value;return t`
    <section class="results" aria-label="Answer" aria-busy=${A.value} data-ended=${K.value}>
      <${ne} error=${Y.value} />
      ${e&&t`
        <p class="note" role="status">
          ${e.rows.length.toLocaleString()} rows at t ${e.basisT} in ${e.stats.elapsedMs.toFixed(1)} ms, ${e.stats.engine.toLowerCase()},
          cache ${e.stats.cache.toLowerCase()}
        </p>
        <${ie} label="Answer" columns=${e.columns} rows=${e.rows} />
      `}
    </section>
  `}var S=R("");function M(e){S.value=e,window.setTimeout(()=>{S.value===e&&(S.value="")},4e3)}async function Se(){let{formatted:e}=await import("./part-LCNKJTKU.js"),n=e(T.value);n===void 0?M("The brackets or quotes of the query do not match."):T.value=n}async function qe(){try{await navigator.clipboard.writeText(te()),M("The link is copied: query, arguments and moment are in it.")}catch{M("This browser does not let the page copy; the address of the page is the link once the query has run.")}}async function Pe(){let{History:e}=await import("./part-6FTUX2QP.js");oe("History",e,{})}function $e(){return t`
    <div class="row toolbar" role="toolbar" aria-label="Query">
      <button type="button" onClick=${()=>{y()}} title="Ctrl-Enter" aria-keyshortcuts="Control+Enter">Run</button>
      ${A.value&&t`<button type="button" class="quiet" onClick=${ee}>Cancel</button>`}
      <button type="button" class="quiet" onClick=${()=>{Se()}}>Format</button>
      <button type="button" class="quiet" onClick=${()=>{qe()}}>Copy link</button>
      <button type="button" class="quiet" onClick=${()=>{Pe()}}>History</button>
      <span class="note" role="status">${S.value}</span>
    </div>
  `}var Ie=async()=>(await import("./part-DD4ZK6ZY.js")).assistance;function O(){return t`
    <section class="ask" aria-label="Query">
      <${E} label="Query" text=${T} onRun=${y} extensions=${Ie} />
      <${me} />
      <${$e} />
    </section>
    <${fe} />
  `}function ye({title:e,onClose:n,children:o}){let r=N(null);return $(()=>r.current?.showModal(),[]),t`
    <dialog ref=${r} onClose=${n} aria-label=${e}>
      <header class="row">
        <h2>${e}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick=${()=>r.current?.close()}>✕</button>
      </header>
      ${o}
    </dialog>
  `}function he(){let[e,n]=b(!1),{principal:o,roles:r=[]}=C.value??{},i=o??(C.value?"no authentication":"unknown");return t`
    <button type="button" class="quiet" onClick=${()=>n(!0)} title=${`Roles: ${r.join(", ")||"none"}`}>
      Identity: ${i}
    </button>
    ${e&&t`<${ye} title="Identity" onClose=${()=>n(!1)}><${L} /><//>`}
  `}function L(){let{principal:e,roles:n=[],expires:o}=C.value??{};return t`
    <form class="stack" onSubmit=${i=>{i.preventDefault();let l=new FormData(i.target).get("token");q(typeof l=="string"?l.trim():"")}}>
      ${C.value&&t`<dl class="facts">
        <dt>Principal</dt>
        <dd>${e??"none: this server does not authenticate"}</dd>
        <dt>Roles</dt>
        <dd>${n.join(", ")||"none"}</dd>
        <dt>Expires</dt>
        <dd>${o??"never"}</dd>
      </dl>`}
      ${k.value&&t`<p class="error" role="alert">The server refused a request: ${k.value.message}</p>`}
      <label>Bearer token <input name="token" type="password" autocomplete="off" required /></label>
      <p class="note">It is kept in this tab until the tab is closed, and sent in the Authorization header.</p>
      <div class="row">
        <button type="submit">Use this token</button>
        ${V.value&&t`<button type="button" onClick=${()=>q("")}>Forget the token</button>`}
      </div>
    </form>
  `}function be(){let e=P.value;if(e===void 0)return null;let n=()=>{P.value=void 0,y()};return t`<p class="looking-as" role="status">
    Ask shows what roles ${e.roles.join(", ")||"none"} with claims <code>${JSON.stringify(e.claims)}</code> see.
    <button type="button" class="quiet" onClick=${n}>Look as yourself</button>
  </p>`}var ge={ask:{title:"Ask",load:()=>O},schema:{title:"Schema",load:async()=>(await import("./part-ZJ6DDWMQ.js")).Schema},change:{title:"Change",load:async()=>(await import("./part-OQTHTQ7H.js")).Change},whom:{title:"As whom",load:async()=>(await import("./part-7SHRUS43.js")).Whom,forAdmins:!0},health:{title:"Health",load:async()=>(await import("./part-NQWJ2OXK.js")).Health}};function ve(){$(()=>{Q().catch(()=>{})},[]);let e=z.value.page,n=Object.entries(ge).filter(([,o])=>!o.forAdmins||_());return t`
    <a class="skip" href="#content" onClick=${Me}>Skip to the content</a>
    <header class="bar">
      <a class="logo" href="#/ask">adalog</a>
      <nav aria-label="Pages">
        ${n.map(([o,{title:r}])=>t`<a key=${o} href=${`#/${o}`} aria-current=${o===e?"page":void 0}>${r}</a>`)}
      </nav>
      <div class="bar-end">
        <a href="graphql">GraphiQL</a>
        <a href="docs/">Docs</a>
        <button type="button" class="quiet" onClick=${ae} title="Switch between the system's, light and dark colours">
          Theme: ${se.value}
        </button>
        <${he} />
      </div>
    </header>
    <div class="body">
      <main id="content" tabindex="-1"><${be} />${Oe()?t`<${L} />`:t`<${Le} name=${e} />`}</main>
      <${re} />
    </div>
  `}function Me(e){e.preventDefault(),document.getElementById("content")?.focus()}function Oe(){return k.value?.code==="UNAUTHENTICATED"&&G.value===void 0}function Le({name:e}){let n=ge[e],[o,r]=b(e==="ask"?{name:e,component:O}:void 0),[i,l]=b();return $(()=>{l(void 0),Promise.resolve(n?.load()).then(a=>a&&r({name:e,component:a}),a=>l(`This page cannot be loaded: ${String(a)}. Load the console again.`))},[e]),$(()=>{document.title=n?`${n.title} \xB7 adalog`:"adalog"},[e]),n===void 0?t`<p class="note">There is no page ${e} in the console. <a href="#/ask">Ask</a> is the first one.</p>`:i?t`<p class="error" role="alert">${i}</p>`:o?.name===e?t`<${o.component} />`:t`<p class="note" role="status">Loading…</p>`}var H=document.getElementById("console");H&&(H.replaceChildren(),D(t`<${ve} />`,H));
