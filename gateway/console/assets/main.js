import{a as le,b as ue}from"./part-ZM457LC7.js";import{a as E,b as ae}from"./part-6CYRF26R.js";import"./part-YOZY7THZ.js";import{a as g}from"./part-4VI73DZ7.js";import{a as v,c as ie}from"./part-YY3QJFC3.js";import{a as q,b as ne}from"./part-NUBWSXH2.js";import{b as se}from"./part-DU3FZGEQ.js";import{a as re}from"./part-HTU5ZZS3.js";import{a as o}from"./part-QKLDYHXV.js";import{A as f,B as te,D as oe,f as P,g as W,h as T,k as Y,n as A,o as R,q as I,r as F,s as K,t as O,u as X,w as N,x as Z,y as ee}from"./part-JLDHNFCA.js";import"./part-HJLQ2EQ6.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import"./part-36OQ73F2.js";import{b as _,c as C,e as L,h as G,i as x,j as z,l as J}from"./part-KGLC7FDX.js";import"./part-R45ROGHT.js";import"./part-VTCKWQW5.js";import{b as U,c,e as p,f as Q,g as V,k}from"./part-Z7GPKOMW.js";function y(e){let t;return function(r){let[,s]=c(t!==void 0),[a,i]=c();return p(()=>{t===void 0&&e().then(u=>{t=u,s(!0)},i)},[]),a!==void 0?o`<p class="error" role="alert">This part cannot be loaded: ${String(a)}. Load the console again.</p>`:t===void 0?o`<p class="note" role="status">Loading…</p>`:o`<${t} ...${r} />`}}var Se=[["newest","Newest","The newest state of the database"],["asOf","As of\u2026","The answer at an earlier moment"],["changes","Changes\u2026","What differs between two moments"],["live","Live","The answer as a stream: rows come and go"]],Ee={asOf:y(async()=>(await import("./part-P4EBJZCB.js")).AsOf),changes:y(async()=>(await import("./part-KNU4WRXU.js")).Changes),live:y(async()=>(await import("./part-Z4WBSATR.js")).LiveControls)};function me(){let e=q.value;return o`
    <section class="moment" aria-label="Moment">
      <div class="row segments" role="group" aria-label="Moment of the answer">
        ${Se.map(([t,n,r])=>o`<button type="button" key=${t} class="quiet" title=${r} aria-pressed=${e===t} onClick=${()=>ne(t)}>${n}</button>`)}
      </div>
      ${e!=="newest"&&o`<div class="moment-controls"><${Ee[e]} key=${e} /></div>`}
    </section>
  `}function pe({field:e,text:t,onChange:n,problem:r}){let{kind:s,places:a}=e,i=Pe(e,t);if(i===void 0)return o`<input class="mono" aria-label=${e.text} aria-describedby=${r} value=${t} placeholder="EDN" onInput=${m=>n(m.target.value)} />`;let u=m=>n(Oe(e,m)),$=(m,l)=>d=>u(i.map((b,S)=>S===m?b.map((Re,Fe)=>Fe===l?d:Re):b)),h=s!=="tuple";return o`
    <table class="argument-rows">
      ${s!=="list"&&o`<thead><tr>${a.map(({name:m,type:l})=>o`<th scope="col" title=${l??""}>${m}</th>`)}${h&&o`<td></td>`}</tr></thead>`}
      <tbody>
        ${i.map((m,l)=>o`<tr key=${l}>
            ${a.map(({name:d,type:b},S)=>o`<td><${g} label=${h?`${d}, row ${l+1}`:d} type=${b} text=${m[S]??""} onChange=${$(l,S)} problem=${r} /></td>`)}
            ${h&&o`<td><button type="button" class="quiet small" aria-label=${`Remove row ${l+1}`} disabled=${i.length===1} onClick=${()=>u(i.filter((d,b)=>b!==l))}>✕</button></td>`}
          </tr>`)}
      </tbody>
    </table>
    ${h&&o`<button type="button" class="quiet small" onClick=${()=>u([...i,a.map(()=>P)])}>Add ${s==="list"?"a value":"a row"}</button>`}
  `}function Pe({kind:e,places:t},n){let r=t.map(()=>P);if(n.trim()==="")return[r];let s=W(n);if(s===void 0)return;if(e==="tuple")return s.length<=t.length?[[...s,...r].slice(0,t.length)]:void 0;if(e==="list")return s.length===0?[r]:s.map(i=>[i]);let a=s.map(W);if(a.every(i=>i?.length===t.length))return a.length===0?[r]:a}function Oe({kind:e},t){return t.every(n=>n.every(r=>r.trim()===""||r===P))&&t.length===1?"":e==="tuple"?T(t[0]??[]):e==="list"?T(t.map(n=>n[0]??"")):T(t.map(T))}function de({text:e,onChange:t,onRun:n}){let r=V(()=>k(e),[]);return p(()=>{r.value=e},[e]),p(()=>r.subscribe(s=>t(s)),[t]),o`<div class="argument-rules"><${E} label="Rules" text=${r} onRun=${n} /></div>`}var ce={asOfT:{title:"as of transaction",key:":as-of",type:"long"},asOf:{title:"as of instant (UTC)",key:":as-of",type:"instant"},sinceT:{title:"since transaction",key:":since",type:"long"},since:{title:"since instant (UTC)",key:":since",type:"instant"},history:{title:"all of history",key:":history",type:"true"},tuples:{title:"a list of tuples",key:"",type:void 0}};function qe(e){if(e.trim()==="")return{way:"asOfT",value:""};let[,t,n=""]=/^\{:basis \{(:as-of|:since|:history) ?(.*)\}\}$/.exec(e)??[];if(t===void 0)return;if(t===":history")return{way:"history",value:"true"};let r=n.startsWith("#inst");return{way:t===":as-of"?r?"asOf":"asOfT":r?"since":"sinceT",value:n}}function fe({field:e,text:t,onChange:n,problem:r}){let s=qe(t),[a,i]=c(s?.way??"tuples"),u=t===""?a:s?.way??"tuples",$=ce[u],h=l=>n(l===""?"":$?.key?`{:basis {${$.key} ${l}}}`:l),m=l=>{let d=l.target.value;i(d),n(d==="history"?"{:basis {:history true}}":"")};return o`<span class="lookup">
    <select aria-label=${`${e.text}: which database`} value=${u} onChange=${m}>
      ${Object.entries(ce).map(([l,{title:d}])=>o`<option key=${l} value=${l}>${d}</option>`)}
    </select>
    ${u!=="history"&&o`<${g} label=${e.text} type=${$?.type} text=${$?.key?s?.value??"":t} onChange=${h} problem=${r} />`}
  </span>`}var Me=[];function ye(e){return Me[e]??=t=>{(R.peek()[e]??"")!==t&&(R.value=N.peek().map((n,r)=>r===e?t:R.peek()[r]??""))}}function $e(){let e=N.value;return e.length===0?null:o`
    <form class="arguments" aria-label="Arguments" onSubmit=${n=>{n.preventDefault(),f()}} noValidate>
      ${e.map((n,r)=>o`<${Le} key=${`${r} ${n.kind} ${n.text}`} field=${n} i=${r} />`)}
      <button type="submit" class="hidden">Run with these arguments</button>
    </form>
  `}function Le({field:e,i:t}){let n=R.value[t]??"",r=ee.value?Z.value[t]:void 0,s=`argument-problem-${t}`,a=r?s:void 0,[i]=e.places,u={field:e,text:n,onChange:ye(t),problem:a,onRun:()=>{f()}};return o`
    <fieldset class=${`argument argument-${e.kind}`}>
      <legend><code>${e.text}</code>${e.places.length===1&&i?.type?o` <span class="note">${i.type==="instant"?"instant, UTC":i.type}</span>`:null}</legend>
      ${e.kind==="scalar"?o`<${g} label=${e.text} type=${i?.type} text=${n} onChange=${ye(t)} problem=${a} name=${`argument-${t}`} />`:e.kind==="rules"?o`<${de} ...${u} />`:e.kind==="source"?o`<${fe} ...${u} />`:o`<${pe} ...${u} />`}
      ${r&&o`<p class="argument-problem" id=${s}>${r}</p>`}
    </fieldset>
  `}var We=y(async()=>(await import("./part-T6LSKGAJ.js")).Why),Ie=y(async()=>(await import("./part-VKZU3DZY.js")).WhyNot);function he(e,t){v("Why this row",We,{answer:e,row:t})}function be(e){v("Why not\u2026",Ie,{answer:e})}var ge=[{label:"Why",run:e=>F.value&&he(F.value,e)}];function ve(){let e=F.value;return o`
    <section class="results" aria-label="Answer" aria-busy=${O.value} data-ended=${X.value}>
      <${re} error=${K.value} />
      ${e&&o`
        <div class="row">
          ${q.value!=="live"&&o`<${Ne} answer=${e} />`}
          <button type="button" class="quiet small" onClick=${()=>be(e)}>Why not…</button>
        </div>
        <${ae} label="Answer" columns=${e.columns} rows=${e.rows} marks=${se(e)} actions=${ge} />
      `}
    </section>
  `}function Ne({answer:{rows:e,basisT:t,stats:n}}){return o`<p class="note" role="status">
    ${e.length.toLocaleString()} rows at t ${t} in ${n.elapsedMs.toFixed(1)} ms, ${n.engine.toLowerCase()}, cache ${n.cache.toLowerCase()}
  </p>`}var M=k("");function j(e){M.value=e,window.setTimeout(()=>{M.value===e&&(M.value="")},4e3)}async function je(){let{formatted:e}=await import("./part-LCNKJTKU.js"),t=e(A.value);t===void 0?j("The brackets or quotes of the query do not match."):A.value=t}async function He(){try{await navigator.clipboard.writeText(oe()),j("The link is copied: query, arguments and moment are in it.")}catch{j("This browser does not let the page copy; the address of the page is the link once the query has run.")}}var w=k(void 0);async function De(){w.value=w.value?void 0:(await import("./part-PTS4UITU.js")).Builder}async function Be(){let{History:e}=await import("./part-DPLRHUYF.js");v("History",e,{})}async function Ue(){let{SavedQueries:e}=await import("./part-YEHBNIJV.js");v("Saved queries",e,{})}function we(){return o`
    <div class="row toolbar" role="toolbar" aria-label="Query">
      <button type="button" onClick=${()=>{f()}} title="Ctrl-Enter" aria-keyshortcuts="Control+Enter">Run</button>
      ${O.value&&o`<button type="button" class="quiet" onClick=${te}>Cancel</button>`}
      <button type="button" class="quiet" onClick=${()=>{je()}}>Format</button>
      <button type="button" class="quiet" aria-pressed=${w.value?"true":"false"} onClick=${()=>{De()}}>Builder</button>
      <button type="button" class="quiet" onClick=${()=>{He()}}>Copy link</button>
      <button type="button" class="quiet" onClick=${()=>{Be()}}>History</button>
      <button type="button" class="quiet" onClick=${()=>{Ue()}}>Saved</button>
      <span class="note" role="status">${M.value}</span>
    </div>
  `}var Qe=async()=>(await import("./part-MR67GDN4.js")).assistance;function H(){return o`
    <section class="ask" aria-label="Query">
      <${E} label="Query" text=${A} onRun=${f} extensions=${Qe} />
      ${w.value&&o`<${w.value} />`}
      <${$e} />
      <${we} />
    </section>
    <${me} />
    <${ve} />
  `}function ke({title:e,onClose:t,children:n}){let r=Q(null);return p(()=>r.current?.showModal(),[]),o`
    <dialog ref=${r} onClose=${t} aria-label=${e}>
      <header class="row">
        <h2>${e}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick=${()=>r.current?.close()}>✕</button>
      </header>
      ${n}
    </dialog>
  `}function Ce(){let[e,t]=c(!1),{principal:n,roles:r=[]}=x.value??{},s=n??(x.value?"no authentication":"unknown");return o`
    <button type="button" class="quiet" onClick=${()=>t(!0)} title=${`Roles: ${r.join(", ")||"none"}`}>
      Identity: ${s}
    </button>
    ${e&&o`<${ke} title="Identity" onClose=${()=>t(!1)}><${D} /><//>`}
  `}function D(){let{principal:e,roles:t=[],expires:n}=x.value??{};return o`
    <form class="stack" onSubmit=${s=>{s.preventDefault();let a=new FormData(s.target).get("token");L(typeof a=="string"?a.trim():"")}}>
      ${x.value&&o`<dl class="facts">
        <dt>Principal</dt>
        <dd>${e??"none: this server does not authenticate"}</dd>
        <dt>Roles</dt>
        <dd>${t.join(", ")||"none"}</dd>
        <dt>Expires</dt>
        <dd>${n??"never"}</dd>
      </dl>`}
      ${C.value&&o`<p class="error" role="alert">The server refused a request: ${C.value.message}</p>`}
      <label>Bearer token <input name="token" type="password" autocomplete="off" required /></label>
      <p class="note">It is kept in this tab until the tab is closed, and sent in the Authorization header.</p>
      <div class="row">
        <button type="submit">Use this token</button>
        ${_.value&&o`<button type="button" onClick=${()=>L("")}>Forget the token</button>`}
      </div>
    </form>
  `}function Te(){let e=I.value;if(e===void 0)return null;let t=()=>{I.value=void 0,f()};return o`<p class="looking-as" role="status">
    Ask shows what roles ${e.roles.join(", ")||"none"} with claims <code>${JSON.stringify(e.claims)}</code> see.
    <button type="button" class="quiet" onClick=${t}>Look as yourself</button>
  </p>`}var xe={ask:{title:"Ask",load:()=>H},schema:{title:"Schema",load:async()=>(await import("./part-ZRX3BM2T.js")).Schema},change:{title:"Change",load:async()=>(await import("./part-RRLKPZL3.js")).Change},whom:{title:"As whom",load:async()=>(await import("./part-2KQVZCXF.js")).Whom,forAdmins:!0},health:{title:"Health",load:async()=>(await import("./part-JK4VEXTI.js")).Health}};function Ae(){p(()=>{z().catch(()=>{})},[]);let e=Y.value.page,t=Object.entries(xe).filter(([,n])=>!n.forAdmins||J());return o`
    <a class="skip" href="#content" onClick=${Ve}>Skip to the content</a>
    <header class="bar">
      <a class="logo" href="#/ask">adalog</a>
      <nav aria-label="Pages">
        ${t.map(([n,{title:r}])=>o`<a key=${n} href=${`#/${n}`} aria-current=${n===e?"page":void 0}>${r}</a>`)}
      </nav>
      <div class="bar-end">
        <a href="graphql">GraphiQL</a>
        <a href="docs/">Docs</a>
        <button type="button" class="quiet" onClick=${ue} title="Switch between the system's, light and dark colours">
          Theme: ${le.value}
        </button>
        <${Ce} />
      </div>
    </header>
    <div class="body">
      <main id="content" tabindex="-1"><${Te} />${_e()?o`<${D} />`:o`<${Ge} name=${e} />`}</main>
      <${ie} />
    </div>
  `}function Ve(e){e.preventDefault(),document.getElementById("content")?.focus()}function _e(){return C.value?.code==="UNAUTHENTICATED"&&G.value===void 0}function Ge({name:e}){let t=xe[e],[n,r]=c(e==="ask"?{name:e,component:H}:void 0),[s,a]=c();return p(()=>{a(void 0),Promise.resolve(t?.load()).then(i=>i&&r({name:e,component:i}),i=>a(`This page cannot be loaded: ${String(i)}. Load the console again.`))},[e]),p(()=>{document.title=t?`${t.title} \xB7 adalog`:"adalog"},[e]),t===void 0?o`<p class="note">There is no page ${e} in the console. <a href="#/ask">Ask</a> is the first one.</p>`:s?o`<p class="error" role="alert">${s}</p>`:n?.name===e?o`<${n.component} />`:o`<p class="note" role="status">Loading…</p>`}var B=document.getElementById("console");B&&(B.replaceChildren(),U(o`<${Ae} />`,B));
