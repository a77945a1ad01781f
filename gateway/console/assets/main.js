import{a as S,c as le}from"./part-UJFACDFC.js";import{a as se}from"./part-6NG5V7EY.js";import{a as ie,c as ae}from"./part-SBDAR3H7.js";import{B as y,C as oe,E as re,f as k,g as T,h,i as G,j as Q,l as K,o as E,p as F,r as M,s as X,t as Z,u as A,v as ee,x as O,y as te,z as ne}from"./part-ZB5WHM2B.js";import{b as W,c as C,e as I,g as Y,h as _,i as x,j as z,l as J}from"./part-PDMBXXWH.js";import"./part-HJLQ2EQ6.js";import"./part-XVFH4FSZ.js";import{a as t}from"./part-AB74YKQT.js";import{a as g,c as $,d as V,e as U,h as v,j as B}from"./part-WOCHKVMF.js";import"./part-6D7OL7PE.js";import{f as j}from"./part-XLI5J4VL.js";var Ee={instant:{type:"datetime-local",step:1},long:{type:"text",inputmode:"numeric",placeholder:"number"},double:{type:"text",inputmode:"decimal",placeholder:"number"},keyword:{type:"text",placeholder:":keyword",spellcheck:!1},uuid:{type:"text",placeholder:"uuid",spellcheck:!1},string:{type:"text",placeholder:"text"}};function b(e){let{label:n,type:o,text:r,onChange:s,problem:l,name:a}=e,d={"aria-label":n,"aria-invalid":l?"true":void 0,"aria-describedby":l,name:a},c=i=>i.target.value;if(o==="ref")return t`<${Fe} ...${e} />`;let p=G(r,o);if(o==="boolean"&&p!==void 0)return t`<select ...${d} value=${p} onChange=${i=>s(c(i))}>
      <option value="">choose</option>
      <option value="true">true</option>
      <option value="false">false</option>
    </select>`;let m=p===void 0?void 0:Ee[o??""];return m===void 0?t`<input ...${d} value=${r===k?"":r} placeholder="EDN" spellcheck=${!1} class="mono" onInput=${i=>s(c(i))} />`:t`<input ...${d} ...${m} value=${p} onInput=${i=>s(Q(c(i),o))} />`}function Fe({label:e,text:n,onChange:o,problem:r,name:s}){let l=Y.value.filter(u=>u.unique!==null&&!/^:(db|graphql|policy)[./]/.test(u.ident)),[a,d="",...c]=T(n)??[],p=c.length===0?l.find(u=>u.ident===a):void 0,m=u=>{let f=u.target.value;o(f===""?"":h([f,""]))},i=u=>o(p?h([p.ident,u]):u);return t`<span class="lookup">
    <select aria-label=${`${e}: which attribute names it`} value=${p?.ident??""} onChange=${m}>
      <option value="">id, ident</option>
      ${l.map(({ident:u})=>t`<option key=${u} value=${u}>${u}</option>`)}
    </select>
    <${b} label=${e} type=${p?.valueType??void 0} text=${p?d:n} onChange=${i} problem=${r} name=${s} />
  </span>`}function ue({field:e,text:n,onChange:o,problem:r}){let{kind:s,places:l}=e,a=Re(e,n);if(a===void 0)return t`<input class="mono" aria-label=${e.text} aria-describedby=${r} value=${n} placeholder="EDN" onInput=${m=>o(m.target.value)} />`;let d=m=>o(Se(e,m)),c=(m,i)=>u=>d(a.map((f,R)=>R===m?f.map((Te,xe)=>xe===i?u:Te):f)),p=s!=="tuple";return t`
    <table class="argument-rows">
      ${s!=="list"&&t`<thead><tr>${l.map(({name:m,type:i})=>t`<th scope="col" title=${i??""}>${m}</th>`)}${p&&t`<td></td>`}</tr></thead>`}
      <tbody>
        ${a.map((m,i)=>t`<tr key=${i}>
            ${l.map(({name:u,type:f},R)=>t`<td><${b} label=${p?`${u}, row ${i+1}`:u} type=${f} text=${m[R]??""} onChange=${c(i,R)} problem=${r} /></td>`)}
            ${p&&t`<td><button type="button" class="quiet small" aria-label=${`Remove row ${i+1}`} disabled=${a.length===1} onClick=${()=>d(a.filter((u,f)=>f!==i))}>✕</button></td>`}
          </tr>`)}
      </tbody>
    </table>
    ${p&&t`<button type="button" class="quiet small" onClick=${()=>d([...a,l.map(()=>k)])}>Add ${s==="list"?"a value":"a row"}</button>`}
  `}function Re({kind:e,places:n},o){let r=n.map(()=>k);if(o.trim()==="")return[r];let s=T(o);if(s===void 0)return;if(e==="tuple")return s.length<=n.length?[[...s,...r].slice(0,n.length)]:void 0;if(e==="list")return s.length===0?[r]:s.map(a=>[a]);let l=s.map(T);if(l.every(a=>a?.length===n.length))return l.length===0?[r]:l}function Se({kind:e},n){return n.every(o=>o.every(r=>r.trim()===""||r===k))&&n.length===1?"":e==="tuple"?h(n[0]??[]):e==="list"?h(n.map(o=>o[0]??"")):h(n.map(h))}function de({text:e,onChange:n,onRun:o}){let r=U(()=>v(e),[]);return $(()=>{r.value=e},[e]),$(()=>r.subscribe(s=>n(s)),[n]),t`<div class="argument-rules"><${S} label="Rules" text=${r} onRun=${o} /></div>`}var pe={asOfT:{title:"as of transaction",key:":as-of",type:"long"},asOf:{title:"as of instant (UTC)",key:":as-of",type:"instant"},sinceT:{title:"since transaction",key:":since",type:"long"},since:{title:"since instant (UTC)",key:":since",type:"instant"},history:{title:"all of history",key:":history",type:"true"},tuples:{title:"a list of tuples",key:"",type:void 0}};function Ae(e){if(e.trim()==="")return{way:"asOfT",value:""};let[,n,o=""]=/^\{:basis \{(:as-of|:since|:history) ?(.*)\}\}$/.exec(e)??[];if(n===void 0)return;if(n===":history")return{way:"history",value:"true"};let r=o.startsWith("#inst");return{way:n===":as-of"?r?"asOf":"asOfT":r?"since":"sinceT",value:o}}function me({field:e,text:n,onChange:o,problem:r}){let s=Ae(n),[l,a]=g(s?.way??"tuples"),d=n===""?l:s?.way??"tuples",c=pe[d],p=i=>o(i===""?"":c?.key?`{:basis {${c.key} ${i}}}`:i),m=i=>{let u=i.target.value;a(u),o(u==="history"?"{:basis {:history true}}":"")};return t`<span class="lookup">
    <select aria-label=${`${e.text}: which database`} value=${d} onChange=${m}>
      ${Object.entries(pe).map(([i,{title:u}])=>t`<option key=${i} value=${i}>${u}</option>`)}
    </select>
    ${d!=="history"&&t`<${b} label=${e.text} type=${c?.type} text=${c?.key?s?.value??"":n} onChange=${p} problem=${r} />`}
  </span>`}var qe=[];function ce(e){return qe[e]??=n=>{(F.peek()[e]??"")!==n&&(F.value=O.peek().map((o,r)=>r===e?n:F.peek()[r]??""))}}function fe(){let e=O.value;return e.length===0?null:t`
    <form class="arguments" aria-label="Arguments" onSubmit=${o=>{o.preventDefault(),y()}} noValidate>
      ${e.map((o,r)=>t`<${Pe} key=${`${r} ${o.kind} ${o.text}`} field=${o} i=${r} />`)}
      <button type="submit" class="hidden">Run with these arguments</button>
    </form>
  `}function Pe({field:e,i:n}){let o=F.value[n]??"",r=ne.value?te.value[n]:void 0,s=`argument-problem-${n}`,l=r?s:void 0,[a]=e.places,d={field:e,text:o,onChange:ce(n),problem:l,onRun:()=>{y()}};return t`
    <fieldset class=${`argument argument-${e.kind}`}>
      <legend><code>${e.text}</code>${e.places.length===1&&a?.type?t` <span class="note">${a.type==="instant"?"instant, UTC":a.type}</span>`:null}</legend>
      ${e.kind==="scalar"?t`<${b} label=${e.text} type=${a?.type} text=${o} onChange=${ce(n)} problem=${l} name=${`argument-${n}`} />`:e.kind==="rules"?t`<${de} ...${d} />`:e.kind==="source"?t`<${me} ...${d} />`:t`<${ue} ...${d} />`}
      ${r&&t`<p class="argument-problem" id=${s}>${r}</p>`}
    </fieldset>
  `}function $e(){let e=X.value;return t`
    <section class="results" aria-label="Answer" aria-busy=${A.value} data-ended=${ee.value}>
      <${se} error=${Z.value} />
      ${e&&t`
        <p class="note" role="status">
          ${e.rows.length.toLocaleString()} rows at t ${e.basisT} in ${e.stats.elapsedMs.toFixed(1)} ms, ${e.stats.engine.toLowerCase()},
          cache ${e.stats.cache.toLowerCase()}
        </p>
        <${le} label="Answer" columns=${e.columns} rows=${e.rows} />
      `}
    </section>
  `}var q=v("");function H(e){q.value=e,window.setTimeout(()=>{q.value===e&&(q.value="")},4e3)}async function Ie(){let{formatted:e}=await import("./part-LCNKJTKU.js"),n=e(E.value);n===void 0?H("The brackets or quotes of the query do not match."):E.value=n}async function Me(){try{await navigator.clipboard.writeText(re()),H("The link is copied: query, arguments and moment are in it.")}catch{H("This browser does not let the page copy; the address of the page is the link once the query has run.")}}async function Oe(){let{History:e}=await import("./part-T4CNPZLX.js");ie("History",e,{})}function ye(){return t`
    <div class="row toolbar" role="toolbar" aria-label="Query">
      <button type="button" onClick=${()=>{y()}} title="Ctrl-Enter" aria-keyshortcuts="Control+Enter">Run</button>
      ${A.value&&t`<button type="button" class="quiet" onClick=${oe}>Cancel</button>`}
      <button type="button" class="quiet" onClick=${()=>{Ie()}}>Format</button>
      <button type="button" class="quiet" onClick=${()=>{Me()}}>Copy link</button>
      <button type="button" class="quiet" onClick=${()=>{Oe()}}>History</button>
      <span class="note" role="status">${q.value}</span>
    </div>
  `}var He=async()=>(await import("./part-FMDNADIP.js")).assistance;function L(){return t`
    <section class="ask" aria-label="Query">
      <${S} label="Query" text=${E} onRun=${y} extensions=${He} />
      <${fe} />
      <${ye} />
    </section>
    <${$e} />
  `}function he({title:e,onClose:n,children:o}){let r=V(null);return $(()=>r.current?.showModal(),[]),t`
    <dialog ref=${r} onClose=${n} aria-label=${e}>
      <header class="row">
        <h2>${e}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick=${()=>r.current?.close()}>✕</button>
      </header>
      ${o}
    </dialog>
  `}function ge(){let[e,n]=g(!1),{principal:o,roles:r=[]}=x.value??{},s=o??(x.value?"no authentication":"unknown");return t`
    <button type="button" class="quiet" onClick=${()=>n(!0)} title=${`Roles: ${r.join(", ")||"none"}`}>
      Identity: ${s}
    </button>
    ${e&&t`<${he} title="Identity" onClose=${()=>n(!1)}><${D} /><//>`}
  `}function D(){let{principal:e,roles:n=[],expires:o}=x.value??{};return t`
    <form class="stack" onSubmit=${s=>{s.preventDefault();let l=new FormData(s.target).get("token");I(typeof l=="string"?l.trim():"")}}>
      ${x.value&&t`<dl class="facts">
        <dt>Principal</dt>
        <dd>${e??"none: this server does not authenticate"}</dd>
        <dt>Roles</dt>
        <dd>${n.join(", ")||"none"}</dd>
        <dt>Expires</dt>
        <dd>${o??"never"}</dd>
      </dl>`}
      ${C.value&&t`<p class="error" role="alert">The server refused a request: ${C.value.message}</p>`}
      <label>Bearer token <input name="token" type="password" autocomplete="off" required /></label>
      <p class="note">It is kept in this tab until the tab is closed, and sent in the Authorization header.</p>
      <div class="row">
        <button type="submit">Use this token</button>
        ${W.value&&t`<button type="button" onClick=${()=>I("")}>Forget the token</button>`}
      </div>
    </form>
  `}function be(){let e=M.value;if(e===void 0)return null;let n=()=>{M.value=void 0,y()};return t`<p class="looking-as" role="status">
    Ask shows what roles ${e.roles.join(", ")||"none"} with claims <code>${JSON.stringify(e.claims)}</code> see.
    <button type="button" class="quiet" onClick=${n}>Look as yourself</button>
  </p>`}var ve="adalog:theme",P=["system","light","dark"],w=v(P.find(e=>e===localStorage.getItem(ve))??"system");B(()=>{document.documentElement.dataset.theme=w.value,localStorage.setItem(ve,w.value)});function ke(){w.value=P[(P.indexOf(w.value)+1)%P.length]??"system"}var we={ask:{title:"Ask",load:()=>L},schema:{title:"Schema",load:async()=>(await import("./part-RGS4V5G5.js")).Schema},change:{title:"Change",load:async()=>(await import("./part-H3TZZN43.js")).Change},whom:{title:"As whom",load:async()=>(await import("./part-YMPUJEV5.js")).Whom,forAdmins:!0},health:{title:"Health",load:async()=>(await import("./part-3FUCHND7.js")).Health}};function Ce(){$(()=>{z().catch(()=>{})},[]);let e=K.value.page,n=Object.entries(we).filter(([,o])=>!o.forAdmins||J());return t`
    <a class="skip" href="#content" onClick=${Le}>Skip to the content</a>
    <header class="bar">
      <a class="logo" href="#/ask">adalog</a>
      <nav aria-label="Pages">
        ${n.map(([o,{title:r}])=>t`<a key=${o} href=${`#/${o}`} aria-current=${o===e?"page":void 0}>${r}</a>`)}
      </nav>
      <div class="bar-end">
        <a href="graphql">GraphiQL</a>
        <a href="docs/">Docs</a>
        <button type="button" class="quiet" onClick=${ke} title="Switch between the system's, light and dark colours">
          Theme: ${w.value}
        </button>
        <${ge} />
      </div>
    </header>
    <div class="body">
      <main id="content" tabindex="-1"><${be} />${De()?t`<${D} />`:t`<${Ne} name=${e} />`}</main>
      <${ae} />
    </div>
  `}function Le(e){e.preventDefault(),document.getElementById("content")?.focus()}function De(){return C.value?.code==="UNAUTHENTICATED"&&_.value===void 0}function Ne({name:e}){let n=we[e],[o,r]=g(e==="ask"?{name:e,component:L}:void 0),[s,l]=g();return $(()=>{l(void 0),Promise.resolve(n?.load()).then(a=>a&&r({name:e,component:a}),a=>l(`This page cannot be loaded: ${String(a)}. Load the console again.`))},[e]),$(()=>{document.title=n?`${n.title} \xB7 adalog`:"adalog"},[e]),n===void 0?t`<p class="note">There is no page ${e} in the console. <a href="#/ask">Ask</a> is the first one.</p>`:s?t`<p class="error" role="alert">${s}</p>`:o?.name===e?t`<${o.component} />`:t`<p class="note" role="status">Loading…</p>`}var N=document.getElementById("console");N&&(N.replaceChildren(),j(t`<${Ce} />`,N));
