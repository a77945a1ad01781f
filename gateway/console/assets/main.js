import{a as re,b as se}from"./part-VSTDXRMY.js";import{a as R,d as ne}from"./part-FY46U7KI.js";import{a as b}from"./part-RMRFEEPR.js";import{a as te}from"./part-EKWCSPXP.js";import{a as O,c as oe}from"./part-OJBTHIQD.js";import{A as c,B as Z,D as ee,f as S,g as P,h as w,k as _,n as T,o as x,q as L,r as z,s as J,t as A,u as Y,w as M,x as K,y as X}from"./part-AXYCSNGS.js";import{a as t}from"./part-3J24DLMZ.js";import"./part-JDAYQUCO.js";import{b as Q,c as k,e as q,h as W,i as C,j as V,l as G}from"./part-J6YRKR3Z.js";import{b as B,c as f,e as p,f as N,g as U,j as v}from"./part-O7RASF4W.js";import"./part-HJLQ2EQ6.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";function ie({field:e,text:o,onChange:n,problem:r}){let{kind:s,places:a}=e,i=ke(e,o);if(i===void 0)return t`<input class="mono" aria-label=${e.text} aria-describedby=${r} value=${o} placeholder="EDN" onInput=${d=>n(d.target.value)} />`;let u=d=>n(we(e,d)),$=(d,l)=>m=>u(i.map((h,F)=>F===d?h.map((ge,ve)=>ve===l?m:ge):h)),y=s!=="tuple";return t`
    <table class="argument-rows">
      ${s!=="list"&&t`<thead><tr>${a.map(({name:d,type:l})=>t`<th scope="col" title=${l??""}>${d}</th>`)}${y&&t`<td></td>`}</tr></thead>`}
      <tbody>
        ${i.map((d,l)=>t`<tr key=${l}>
            ${a.map(({name:m,type:h},F)=>t`<td><${b} label=${y?`${m}, row ${l+1}`:m} type=${h} text=${d[F]??""} onChange=${$(l,F)} problem=${r} /></td>`)}
            ${y&&t`<td><button type="button" class="quiet small" aria-label=${`Remove row ${l+1}`} disabled=${i.length===1} onClick=${()=>u(i.filter((m,h)=>h!==l))}>✕</button></td>`}
          </tr>`)}
      </tbody>
    </table>
    ${y&&t`<button type="button" class="quiet small" onClick=${()=>u([...i,a.map(()=>S)])}>Add ${s==="list"?"a value":"a row"}</button>`}
  `}function ke({kind:e,places:o},n){let r=o.map(()=>S);if(n.trim()==="")return[r];let s=P(n);if(s===void 0)return;if(e==="tuple")return s.length<=o.length?[[...s,...r].slice(0,o.length)]:void 0;if(e==="list")return s.length===0?[r]:s.map(i=>[i]);let a=s.map(P);if(a.every(i=>i?.length===o.length))return a.length===0?[r]:a}function we({kind:e},o){return o.every(n=>n.every(r=>r.trim()===""||r===S))&&o.length===1?"":e==="tuple"?w(o[0]??[]):e==="list"?w(o.map(n=>n[0]??"")):w(o.map(w))}function ae({text:e,onChange:o,onRun:n}){let r=U(()=>v(e),[]);return p(()=>{r.value=e},[e]),p(()=>r.subscribe(s=>o(s)),[o]),t`<div class="argument-rules"><${R} label="Rules" text=${r} onRun=${n} /></div>`}var le={asOfT:{title:"as of transaction",key:":as-of",type:"long"},asOf:{title:"as of instant (UTC)",key:":as-of",type:"instant"},sinceT:{title:"since transaction",key:":since",type:"long"},since:{title:"since instant (UTC)",key:":since",type:"instant"},history:{title:"all of history",key:":history",type:"true"},tuples:{title:"a list of tuples",key:"",type:void 0}};function Ce(e){if(e.trim()==="")return{way:"asOfT",value:""};let[,o,n=""]=/^\{:basis \{(:as-of|:since|:history) ?(.*)\}\}$/.exec(e)??[];if(o===void 0)return;if(o===":history")return{way:"history",value:"true"};let r=n.startsWith("#inst");return{way:o===":as-of"?r?"asOf":"asOfT":r?"since":"sinceT",value:n}}function ue({field:e,text:o,onChange:n,problem:r}){let s=Ce(o),[a,i]=f(s?.way??"tuples"),u=o===""?a:s?.way??"tuples",$=le[u],y=l=>n(l===""?"":$?.key?`{:basis {${$.key} ${l}}}`:l),d=l=>{let m=l.target.value;i(m),n(m==="history"?"{:basis {:history true}}":"")};return t`<span class="lookup">
    <select aria-label=${`${e.text}: which database`} value=${u} onChange=${d}>
      ${Object.entries(le).map(([l,{title:m}])=>t`<option key=${l} value=${l}>${m}</option>`)}
    </select>
    ${u!=="history"&&t`<${b} label=${e.text} type=${$?.type} text=${$?.key?s?.value??"":o} onChange=${y} problem=${r} />`}
  </span>`}var Te=[];function de(e){return Te[e]??=o=>{(x.peek()[e]??"")!==o&&(x.value=M.peek().map((n,r)=>r===e?o:x.peek()[r]??""))}}function me(){let e=M.value;return e.length===0?null:t`
    <form class="arguments" aria-label="Arguments" onSubmit=${n=>{n.preventDefault(),c()}} noValidate>
      ${e.map((n,r)=>t`<${xe} key=${`${r} ${n.kind} ${n.text}`} field=${n} i=${r} />`)}
      <button type="submit" class="hidden">Run with these arguments</button>
    </form>
  `}function xe({field:e,i:o}){let n=x.value[o]??"",r=X.value?K.value[o]:void 0,s=`argument-problem-${o}`,a=r?s:void 0,[i]=e.places,u={field:e,text:n,onChange:de(o),problem:a,onRun:()=>{c()}};return t`
    <fieldset class=${`argument argument-${e.kind}`}>
      <legend><code>${e.text}</code>${e.places.length===1&&i?.type?t` <span class="note">${i.type==="instant"?"instant, UTC":i.type}</span>`:null}</legend>
      ${e.kind==="scalar"?t`<${b} label=${e.text} type=${i?.type} text=${n} onChange=${de(o)} problem=${a} name=${`argument-${o}`} />`:e.kind==="rules"?t`<${ae} ...${u} />`:e.kind==="source"?t`<${ue} ...${u} />`:t`<${ie} ...${u} />`}
      ${r&&t`<p class="argument-problem" id=${s}>${r}</p>`}
    </fieldset>
  `}function pe(){let e=z.value;return t`
    <section class="results" aria-label="Answer" aria-busy=${A.value} data-ended=${Y.value}>
      <${te} error=${J.value} />
      ${e&&t`
        <p class="note" role="status">
          ${e.rows.length.toLocaleString()} rows at t ${e.basisT} in ${e.stats.elapsedMs.toFixed(1)} ms, ${e.stats.engine.toLowerCase()},
          cache ${e.stats.cache.toLowerCase()}
        </p>
        <${ne} label="Answer" columns=${e.columns} rows=${e.rows} />
      `}
    </section>
  `}var E=v("");function I(e){E.value=e,window.setTimeout(()=>{E.value===e&&(E.value="")},4e3)}async function Fe(){let{formatted:e}=await import("./part-LCNKJTKU.js"),o=e(T.value);o===void 0?I("The brackets or quotes of the query do not match."):T.value=o}async function Re(){try{await navigator.clipboard.writeText(ee()),I("The link is copied: query, arguments and moment are in it.")}catch{I("This browser does not let the page copy; the address of the page is the link once the query has run.")}}var g=v(void 0);async function Se(){g.value=g.value?void 0:(await import("./part-GJO4LG54.js")).Builder}async function Ae(){let{History:e}=await import("./part-I6ZODFTJ.js");O("History",e,{})}async function Ee(){let{SavedQueries:e}=await import("./part-FIAN7PSY.js");O("Saved queries",e,{})}function ce(){return t`
    <div class="row toolbar" role="toolbar" aria-label="Query">
      <button type="button" onClick=${()=>{c()}} title="Ctrl-Enter" aria-keyshortcuts="Control+Enter">Run</button>
      ${A.value&&t`<button type="button" class="quiet" onClick=${Z}>Cancel</button>`}
      <button type="button" class="quiet" onClick=${()=>{Fe()}}>Format</button>
      <button type="button" class="quiet" aria-pressed=${g.value?"true":"false"} onClick=${()=>{Se()}}>Builder</button>
      <button type="button" class="quiet" onClick=${()=>{Re()}}>Copy link</button>
      <button type="button" class="quiet" onClick=${()=>{Ae()}}>History</button>
      <button type="button" class="quiet" onClick=${()=>{Ee()}}>Saved</button>
      <span class="note" role="status">${E.value}</span>
    </div>
  `}var qe=async()=>(await import("./part-UGVUQZF5.js")).assistance;function H(){return t`
    <section class="ask" aria-label="Query">
      <${R} label="Query" text=${T} onRun=${c} extensions=${qe} />
      ${g.value&&t`<${g.value} />`}
      <${me} />
      <${ce} />
    </section>
    <${pe} />
  `}function fe({title:e,onClose:o,children:n}){let r=N(null);return p(()=>r.current?.showModal(),[]),t`
    <dialog ref=${r} onClose=${o} aria-label=${e}>
      <header class="row">
        <h2>${e}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick=${()=>r.current?.close()}>✕</button>
      </header>
      ${n}
    </dialog>
  `}function $e(){let[e,o]=f(!1),{principal:n,roles:r=[]}=C.value??{},s=n??(C.value?"no authentication":"unknown");return t`
    <button type="button" class="quiet" onClick=${()=>o(!0)} title=${`Roles: ${r.join(", ")||"none"}`}>
      Identity: ${s}
    </button>
    ${e&&t`<${fe} title="Identity" onClose=${()=>o(!1)}><${D} /><//>`}
  `}function D(){let{principal:e,roles:o=[],expires:n}=C.value??{};return t`
    <form class="stack" onSubmit=${s=>{s.preventDefault();let a=new FormData(s.target).get("token");q(typeof a=="string"?a.trim():"")}}>
      ${C.value&&t`<dl class="facts">
        <dt>Principal</dt>
        <dd>${e??"none: this server does not authenticate"}</dd>
        <dt>Roles</dt>
        <dd>${o.join(", ")||"none"}</dd>
        <dt>Expires</dt>
        <dd>${n??"never"}</dd>
      </dl>`}
      ${k.value&&t`<p class="error" role="alert">The server refused a request: ${k.value.message}</p>`}
      <label>Bearer token <input name="token" type="password" autocomplete="off" required /></label>
      <p class="note">It is kept in this tab until the tab is closed, and sent in the Authorization header.</p>
      <div class="row">
        <button type="submit">Use this token</button>
        ${Q.value&&t`<button type="button" onClick=${()=>q("")}>Forget the token</button>`}
      </div>
    </form>
  `}function ye(){let e=L.value;if(e===void 0)return null;let o=()=>{L.value=void 0,c()};return t`<p class="looking-as" role="status">
    Ask shows what roles ${e.roles.join(", ")||"none"} with claims <code>${JSON.stringify(e.claims)}</code> see.
    <button type="button" class="quiet" onClick=${o}>Look as yourself</button>
  </p>`}var he={ask:{title:"Ask",load:()=>H},schema:{title:"Schema",load:async()=>(await import("./part-XFZNU2CW.js")).Schema},change:{title:"Change",load:async()=>(await import("./part-EIPJ43QA.js")).Change},whom:{title:"As whom",load:async()=>(await import("./part-AWUYSEQB.js")).Whom,forAdmins:!0},health:{title:"Health",load:async()=>(await import("./part-NQWJ2OXK.js")).Health}};function be(){p(()=>{V().catch(()=>{})},[]);let e=_.value.page,o=Object.entries(he).filter(([,n])=>!n.forAdmins||G());return t`
    <a class="skip" href="#content" onClick=${Pe}>Skip to the content</a>
    <header class="bar">
      <a class="logo" href="#/ask">adalog</a>
      <nav aria-label="Pages">
        ${o.map(([n,{title:r}])=>t`<a key=${n} href=${`#/${n}`} aria-current=${n===e?"page":void 0}>${r}</a>`)}
      </nav>
      <div class="bar-end">
        <a href="graphql">GraphiQL</a>
        <a href="docs/">Docs</a>
        <button type="button" class="quiet" onClick=${se} title="Switch between the system's, light and dark colours">
          Theme: ${re.value}
        </button>
        <${$e} />
      </div>
    </header>
    <div class="body">
      <main id="content" tabindex="-1"><${ye} />${Le()?t`<${D} />`:t`<${Me} name=${e} />`}</main>
      <${oe} />
    </div>
  `}function Pe(e){e.preventDefault(),document.getElementById("content")?.focus()}function Le(){return k.value?.code==="UNAUTHENTICATED"&&W.value===void 0}function Me({name:e}){let o=he[e],[n,r]=f(e==="ask"?{name:e,component:H}:void 0),[s,a]=f();return p(()=>{a(void 0),Promise.resolve(o?.load()).then(i=>i&&r({name:e,component:i}),i=>a(`This page cannot be loaded: ${String(i)}. Load the console again.`))},[e]),p(()=>{document.title=o?`${o.title} \xB7 adalog`:"adalog"},[e]),o===void 0?t`<p class="note">There is no page ${e} in the console. <a href="#/ask">Ask</a> is the first one.</p>`:s?t`<p class="error" role="alert">${s}</p>`:n?.name===e?t`<${n.component} />`:t`<p class="note" role="status">Loading…</p>`}var j=document.getElementById("console");j&&(j.replaceChildren(),B(t`<${be} />`,j));
