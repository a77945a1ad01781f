import{a as q,b as $e}from"./part-GRXLELZQ.js";import"./part-OPBLLXEI.js";import{a as k}from"./part-R3KBAFXE.js";import{b as fe}from"./part-JJJ2B5B4.js";import"./part-OQ547FIK.js";import{b as de}from"./part-MPM2MG3W.js";import{a as ye}from"./part-FJ6BZCQO.js";import{a as B,b as he}from"./part-ILQFNA5G.js";import{a as me,b as pe}from"./part-2KF6VXRP.js";import{a as u}from"./part-4VQ6OVIT.js";import{a as y,c as ce}from"./part-NEIUQMN6.js";import{a as ae}from"./part-GI5L6ODP.js";import{b as ue}from"./part-4VIEBSYY.js";import{A as ie,B as se,a as L,b as M,f as P,g as I,h as A,k as R,l as S,n as D,o as b,p as N,q as F,r as te,t as j,u as ne,v as oe,x as f,y as re}from"./part-LV57CMH5.js";import"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{a as le}from"./part-PQQ22TZ7.js";import{a as n}from"./part-H5APD4YT.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import{a as ee}from"./part-56TO7VDT.js";import"./part-7PNDONP5.js";import{b as Y,c as x,d as Z,f as X}from"./part-MYFEB7IN.js";import{b as J,c as T,e as H}from"./part-TSUFEJYE.js";import"./part-R45ROGHT.js";import"./part-VTCKWQW5.js";import{b as K,d as $,f as c,g as _,h as z,m as h}from"./part-RZWRK72K.js";var E=h(void 0);var Ne=[["newest","Newest","The newest state of the database"],["asOf","As of\u2026","The answer at an earlier moment"],["changes","Changes\u2026","What differs between two moments"],["live","Live","The answer as a stream: rows come and go"]],je={asOf:u(async()=>(await import("./part-CNIELPLO.js")).AsOf),changes:u(async()=>(await import("./part-6HA72U4Z.js")).Changes),live:u(async()=>(await import("./part-Z6QTM2TT.js")).LiveControls)};function be(){let e=M.value;return n`
    <section class="moment" aria-label="Moment">
      <div class="row segments" role="group" aria-label="Moment of the answer">
        ${Ne.map(([t,r,o])=>n`<button type="button" key=${t} class="quiet" title=${o} aria-pressed=${e===t} onClick=${()=>ae(t)}>${r}</button>`)}
      </div>
      ${e!=="newest"&&n`<div class="moment-controls"><${je[e]} key=${e} /></div>`}
    </section>
  `}function ge({field:e,text:t,onChange:r,problem:o}){let{kind:i,places:a}=e,s=Be(e,t);if(s===void 0)return n`<input class="mono" aria-label=${e.text} aria-describedby=${o} value=${t} placeholder="EDN" onInput=${p=>r(p.target.value)} />`;let m=p=>r(Ue(e,p)),g=(p,l)=>d=>m(s.map((w,O)=>O===p?w.map((Ie,De)=>De===l?d:Ie):w)),v=i!=="tuple";return n`
    <table class="argument-rows">
      ${i!=="list"&&n`<thead><tr>${a.map(({name:p,type:l})=>n`<th scope="col" title=${l??""}>${p}</th>`)}${v&&n`<td></td>`}</tr></thead>`}
      <tbody>
        ${s.map((p,l)=>n`<tr key=${l}>
            ${a.map(({name:d,type:w},O)=>n`<td><${k} label=${v?`${d}, row ${l+1}`:d} type=${w} text=${p[O]??""} onChange=${g(l,O)} problem=${o} /></td>`)}
            ${v&&n`<td><button type="button" class="quiet small" aria-label=${`Remove row ${l+1}`} disabled=${s.length===1} onClick=${()=>m(s.filter((d,w)=>w!==l))}>✕</button></td>`}
          </tr>`)}
      </tbody>
    </table>
    ${v&&n`<button type="button" class="quiet small" onClick=${()=>m([...s,a.map(()=>P)])}>Add ${i==="list"?"a value":"a row"}</button>`}
  `}function Be({kind:e,places:t},r){let o=t.map(()=>P);if(r.trim()==="")return[o];let i=I(r);if(i===void 0)return;if(e==="tuple")return i.length<=t.length?[[...i,...o].slice(0,t.length)]:void 0;if(e==="list")return i.length===0?[o]:i.map(s=>[s]);let a=i.map(I);if(a.every(s=>s?.length===t.length))return a.length===0?[o]:a}function Ue({kind:e},t){return t.every(r=>r.every(o=>o.trim()===""||o===P))&&t.length===1?"":e==="tuple"?A(t[0]??[]):e==="list"?A(t.map(r=>r[0]??"")):A(t.map(A))}function ve({text:e,onChange:t,onRun:r}){let o=z(()=>h(e),[]);return c(()=>{o.value=e},[e]),c(()=>o.subscribe(i=>t(i)),[t]),n`<div class="argument-rules"><${q} label="Rules" text=${o} onRun=${r} /></div>`}var we={asOfT:{title:"as of transaction",key:":as-of",type:"long"},asOf:{title:"as of instant (UTC)",key:":as-of",type:"instant"},sinceT:{title:"since transaction",key:":since",type:"long"},since:{title:"since instant (UTC)",key:":since",type:"instant"},history:{title:"all of history",key:":history",type:"true"},tuples:{title:"a list of tuples",key:"",type:void 0}};function Ve(e){if(e.trim()==="")return{way:"asOfT",value:""};let[,t,r=""]=/^\{:basis \{(:as-of|:since|:history) ?(.*)\}\}$/.exec(e)??[];if(t===void 0)return;if(t===":history")return{way:"history",value:"true"};let o=r.startsWith("#inst");return{way:t===":as-of"?o?"asOf":"asOfT":o?"since":"sinceT",value:r}}function ke({field:e,text:t,onChange:r,problem:o}){let i=Ve(t),[a,s]=$(i?.way??"tuples"),m=t===""?a:i?.way??"tuples",g=we[m],v=l=>r(l===""?"":g?.key?`{:basis {${g.key} ${l}}}`:l),p=l=>{let d=l.target.value;s(d),r(d==="history"?"{:basis {:history true}}":"")};return n`<span class="lookup">
    <select aria-label=${`${e.text}: which database`} value=${m} onChange=${p}>
      ${Object.entries(we).map(([l,{title:d}])=>n`<option key=${l} value=${l}>${d}</option>`)}
    </select>
    ${m!=="history"&&n`<${k} label=${e.text} type=${g?.type} text=${g?.key?i?.value??"":t} onChange=${v} problem=${o} />`}
  </span>`}var Ge=[];function Ce(e){return Ge[e]??=t=>{(S.peek()[e]??"")!==t&&(S.value=j.peek().map((r,o)=>o===e?t:S.peek()[o]??""))}}function Te(){let e=j.value;return e.length===0?null:n`
    <form class="arguments" aria-label="Arguments" onSubmit=${r=>{r.preventDefault(),f()}} noValidate>
      ${e.map((r,o)=>n`<${Qe} key=${`${o} ${r.kind} ${r.text}`} field=${r} i=${o} />`)}
      <button type="submit" class="hidden">Run with these arguments</button>
    </form>
  `}function Qe({field:e,i:t}){let r=S.value[t]??"",o=oe.value?ne.value[t]:void 0,i=`argument-problem-${t}`,a=o?i:void 0,[s]=e.places,m={field:e,text:r,onChange:Ce(t),problem:a,onRun:()=>{f()}};return n`
    <fieldset class=${`argument argument-${e.kind}`}>
      <legend><code>${e.text}</code>${e.places.length===1&&s?.type?n` <span class="note">${s.type==="instant"?"instant, UTC":s.type}</span>`:null}</legend>
      ${e.kind==="scalar"?n`<${k} label=${e.text} type=${s?.type} text=${r} onChange=${Ce(t)} problem=${a} name=${`argument-${t}`} />`:e.kind==="rules"?n`<${ve} ...${m} />`:e.kind==="source"?n`<${ke} ...${m} />`:n`<${ge} ...${m} />`}
      ${o&&n`<p class="argument-problem" id=${i}>${o}</p>`}
    </fieldset>
  `}var Ke=u(async()=>(await import("./part-V6EE5WUF.js")).Why),_e=u(async()=>(await import("./part-4IJVNGS2.js")).WhyNot);function Ae(e,t){y("Why this row",Ke,{answer:e,row:t})}function xe(e){y("Why not\u2026",_e,{answer:e})}var ze=u(async()=>(await import("./part-PZBV34TN.js")).RowHistory),Re=[{label:"Why",run:e=>b.value&&Ae(b.value,e)},{label:"History",run:e=>b.value&&y("History of this row",ze,{answer:b.value,row:e})}];function Se({answer:e}){let{columns:t,rows:r,warnings:o}=e;return r.length>0?n`<${$e} label="Answer" columns=${t} rows=${r} marks=${ue(e)} actions=${Re} />`:n`
    <div class="empty">
      <p><strong>No rows.</strong> The query ran, and nothing that you may read fits all of its clauses.</p>
      <p>
        ${o.length>0?"The warnings above may say why. ":""}Leave clauses out one by one, or ask for less in each, to see which of them lets nothing pass.
      </p>
    </div>
  `}var Je=[{name:"table",title:"Table",isOffered:()=>!0,component:Se},{name:"chart",title:"Chart",isOffered:fe,component:u(async()=>(await import("./part-ECIYCYFJ.js")).Chart)},{name:"graph",title:"Graph",isOffered:ye,component:u(async()=>(await import("./part-VOG75DHU.js")).Graph)},{name:"plan",title:"Plan",isOffered:()=>!0,component:u(async()=>(await import("./part-SCIIWFNZ.js")).Plan)}];function Fe(e){return Je.filter(({isOffered:t})=>t(e))}var Ye=u(async()=>(await import("./part-UY2GHK5F.js")).SaveMenu);function Oe(){let e=b.value;return n`
    <section class="results" aria-label="Answer" aria-busy=${F.value} data-ended=${te.value}>
      <${Ze} />
      ${e?n`<${Xe} answer=${e} />`:!N.value&&n`<p class="empty">${F.value?"Asking\u2026":"Ctrl-Enter in the editor runs the query."}</p>`}
    </section>
  `}function Ze(){let e=N.value;if(!e)return null;let{line:t,column:r}=e;return n`<div>
    <${le} error=${e} />
    ${t!==void 0&&r!==void 0&&!e.origin&&n`<button type="button" class="quiet small" onClick=${()=>E.value={line:t,column:r}}>Go to line ${t}</button>`}
  </div>`}function Xe({answer:e}){let t=Fe(e),r=t.find(({name:o})=>o===L.value)??t[0];return n`
    <${me.Provider} value=${pe(e)}>
      <div class="results-head">
        ${t.length>1&&n`<${tt} views=${t} current=${r?.name} />`}
        <div class="note row">
          ${M.value!=="live"&&n`<span role="status">${et(e)}</span>`}
          <button type="button" class="quiet small" onClick=${()=>xe(e)}>Why not…</button>
          ${e.columns.some(({type:o})=>o==="instant")&&n`<${de} />`}
          ${e.rows.length>0&&n`<${Ye} answer=${e} />`}
        </div>
      </div>
      <${nt} warnings=${e.warnings} />
      <div class="view" id="view" role=${t.length>1?"tabpanel":void 0} aria-label=${t.length>1?r?.title:void 0}>
        ${r&&n`<${r.component} key=${r.name} answer=${e} />`}
      </div>
    <//>
  `}function et({rows:e,basisT:t,stats:r}){let{elapsedMs:o,engine:i,cache:a}=r;return`${`${e.length.toLocaleString()} ${e.length===1?"row":"rows"}`} at t ${t} in ${o.toFixed(1)} ms, ${i.toLowerCase()}, cache ${a.toLowerCase()}`}function Ee(e){L.value=e,ie()}function tt({views:e,current:t}){return n`
    <div class="tabs" role="tablist" aria-label="Views of the answer" onKeyDown=${o=>{let i={ArrowRight:1,ArrowLeft:-1}[o.key],a=e.findIndex(({name:m})=>m===t),s=i===void 0?void 0:e.at((a+i)%e.length);s&&(o.preventDefault(),Ee(s.name),o.currentTarget.querySelector(`[data-view="${s.name}"]`)?.focus())}}>
      ${e.map(({name:o,title:i})=>n`
          <button
            type="button"
            role="tab"
            key=${o}
            class="quiet"
            data-view=${o}
            aria-selected=${o===t}
            aria-controls="view"
            tabindex=${o===t?0:-1}
            onClick=${()=>Ee(o)}
          >
            ${i}
          </button>
        `)}
    </div>
  `}function nt({warnings:e}){return e.length===0?null:n`<ul class="warnings" aria-label="Warnings">
    ${e.map(({code:t,message:r,line:o,column:i},a)=>n`
        <li key=${a}>
          <strong>${t}</strong> ${r}
          ${o!==null&&n` <button type="button" class="quiet small" onClick=${()=>E.value={line:o,column:i??1}}>line ${o}, column ${i??1}</button>`}
        </li>
      `)}
  </ul>`}var W=h("");function U(e){W.value=e,window.setTimeout(()=>{W.value===e&&(W.value="")},4e3)}async function ot(){let{formatted:e}=await import("./part-LCNKJTKU.js"),t=e(R.value);t===void 0?U("The brackets or quotes of the query do not match."):R.value=t}async function rt(){try{await navigator.clipboard.writeText(se()),U("The link is copied: query, arguments, moment and view are in it.")}catch{U("This browser does not let the page copy; the address of the page is the link once the query has run.")}}var C=h(void 0);async function it(){C.value=C.value?void 0:(await import("./part-UVHYQBRJ.js")).Builder}async function st(){let{History:e}=await import("./part-5CMWJYCG.js");y("History",e,{})}async function at(){let{SavedQueries:e}=await import("./part-WPZ2A3M3.js");y("Saved queries",e,{})}function qe(){return n`
    <div class="row toolbar" role="toolbar" aria-label="Query">
      <button type="button" onClick=${()=>{f()}} title="Ctrl-Enter" aria-keyshortcuts="Control+Enter">Run</button>
      ${F.value&&n`<button type="button" class="quiet" onClick=${re}>Cancel</button>`}
      <button type="button" class="quiet" onClick=${()=>{ot()}}>Format</button>
      <button type="button" class="quiet" aria-pressed=${C.value?"true":"false"} onClick=${()=>{it()}}>Builder</button>
      <button type="button" class="quiet" onClick=${()=>{rt()}}>Copy link</button>
      <button type="button" class="quiet" onClick=${()=>{st()}}>History</button>
      <button type="button" class="quiet" onClick=${()=>{at()}}>Saved</button>
      <span class="note" role="status">${W.value}</span>
    </div>
  `}var lt=async()=>(await import("./part-527P57WF.js")).assistance;function V(){return n`
    <section class="ask" aria-label="Query">
      <${q} label="Query" text=${R} onRun=${f} extensions=${lt} destination=${E} />
      ${C.value&&n`<${C.value} />`}
      <${Te} />
      <${qe} />
    </section>
    <${be} />
    <${Oe} />
  `}function Me({title:e,onClose:t,children:r}){let o=_(null);return c(()=>o.current?.showModal(),[]),n`
    <dialog ref=${o} onClose=${t} aria-label=${e}>
      <header class="row">
        <h2>${e}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick=${()=>o.current?.close()}>✕</button>
      </header>
      ${r}
    </dialog>
  `}function Pe(){let[e,t]=$(!1),{principal:r,roles:o=[]}=x.value??{},i=r??(x.value?"no authentication":"unknown");return n`
    <button type="button" class="quiet" aria-label=${`Identity: ${i}`} onClick=${()=>t(!0)} title=${`Roles: ${o.join(", ")||"none"}`}>
      <span class="wide-only">Identity: </span>${i}
    </button>
    ${e&&n`<${Me} title="Identity" onClose=${()=>t(!1)}><${G} /><//>`}
  `}function G(){let{principal:e,roles:t=[],expires:r}=x.value??{};return n`
    <form class="stack" onSubmit=${i=>{i.preventDefault();let a=new FormData(i.target).get("token");H(typeof a=="string"?a.trim():"")}}>
      ${x.value&&n`<dl class="facts">
        <dt>Principal</dt>
        <dd>${e??"none: this server does not authenticate"}</dd>
        <dt>Roles</dt>
        <dd>${t.join(", ")||"none"}</dd>
        <dt>Expires</dt>
        <dd>${r??"never"}</dd>
      </dl>`}
      ${T.value&&n`<p class="error" role="alert">The server refused a request: ${T.value.message}</p>`}
      <label>Bearer token <input name="token" type="password" autocomplete="off" required /></label>
      <p class="note">It is kept in this tab until the tab is closed, and sent in the Authorization header.</p>
      <div class="row">
        <button type="submit">Use this token</button>
        ${J.value&&n`<button type="button" onClick=${()=>H("")}>Forget the token</button>`}
      </div>
    </form>
  `}function We(){let e=D.value;if(e===void 0)return null;let t=()=>{D.value=void 0,f()};return n`<p class="looking-as" role="status">
    Ask shows what roles ${e.roles.join(", ")||"none"} with claims <code>${JSON.stringify(e.claims)}</code> see.
    <button type="button" class="quiet" onClick=${t}>Look as yourself</button>
  </p>`}var Le={ask:{title:"Ask",load:()=>V},entity:{title:"Entity",load:async()=>(await import("./part-U4FSVAHM.js")).EntityPage,isUnlisted:!0},schema:{title:"Schema",load:async()=>(await import("./part-2YNQJGWS.js")).Schema},change:{title:"Change",load:async()=>(await import("./part-32R2LALS.js")).Change},whom:{title:"As whom",load:async()=>(await import("./part-22FEXQNJ.js")).Whom,forAdmins:!0},health:{title:"Health",load:async()=>(await import("./part-QOIVTDZ3.js")).Health}};function He(){c(()=>{Z().catch(()=>{})},[]);let e=ee.value.page,t=Object.entries(Le).filter(([,r])=>!r.isUnlisted&&(!r.forAdmins||X()));return n`
    <a class="skip" href="#content" onClick=${ut}>Skip to the content</a>
    <header class="bar">
      <a class="logo" href="#/ask">adalog</a>
      <nav aria-label="Pages">
        ${t.map(([r,{title:o}])=>n`<a key=${r} href=${`#/${r}`} aria-current=${r===e?"page":void 0}>${o}</a>`)}
      </nav>
      <div class="bar-end">
        <a href="graphql">GraphiQL</a>
        <a href="docs/">Docs</a>
        <button type="button" class="quiet" aria-label=${`Theme: ${B.value}`} onClick=${he} title="Switch between the system's, light and dark colours">
          <span class="wide-only">Theme: </span>${B.value}
        </button>
        <${Pe} />
      </div>
    </header>
    <div class="body">
      <main id="content" tabindex="-1"><${We} />${mt()?n`<${G} />`:n`<${pt} name=${e} />`}</main>
      <${ce} />
    </div>
  `}function ut(e){e.preventDefault(),document.getElementById("content")?.focus()}function mt(){return T.value?.code==="UNAUTHENTICATED"&&Y.value===void 0}function pt({name:e}){let t=Le[e],[r,o]=$(e==="ask"?{name:e,component:V}:void 0),[i,a]=$();return c(()=>{a(void 0),Promise.resolve(t?.load()).then(s=>s&&o({name:e,component:s}),s=>a(`This page cannot be loaded: ${String(s)}. Load the console again.`))},[e]),c(()=>{document.title=t?`${t.title} \xB7 adalog`:"adalog"},[e]),t===void 0?n`<p class="note">There is no page ${e} in the console. <a href="#/ask">Ask</a> is the first one.</p>`:i?n`<p class="error" role="alert">${i}</p>`:r?.name===e?n`<${r.component} />`:n`<p class="note" role="status">Loading…</p>`}var Q=document.getElementById("console");Q&&(Q.replaceChildren(),K(n`<${He} />`,Q));
