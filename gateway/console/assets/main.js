import{a as q,b as ye}from"./part-3X3ITKVB.js";import"./part-IL6DCZRB.js";import{a as k}from"./part-66YHQIEW.js";import{b as ce}from"./part-ET4FWLM6.js";import"./part-OQ547FIK.js";import{b as pe}from"./part-OIAL7UBB.js";import{a as fe}from"./part-FJ6BZCQO.js";import{a as B,b as $e}from"./part-ILQFNA5G.js";import{a as ue,b as me}from"./part-2KF6VXRP.js";import{a as u}from"./part-6SV666EK.js";import{a as $,c as de}from"./part-NEIUQMN6.js";import{a as P,b as se}from"./part-6VXWK6VU.js";import{b as le}from"./part-JXCTAW2B.js";import{d as M,e as I,f as A,i as R,j as S,l as D,m as b,n as N,o as F,p as te,r as j,s as ne,t as oe,v as y,w as re,y as ie}from"./part-LLVG6Z7P.js";import"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{a as ee}from"./part-56TO7VDT.js";import{a as ae}from"./part-PQQ22TZ7.js";import{a as n}from"./part-H5APD4YT.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import"./part-7PNDONP5.js";import{b as Y,c as x,d as Z,f as X}from"./part-MYFEB7IN.js";import{b as J,c as T,e as H}from"./part-TSUFEJYE.js";import"./part-R45ROGHT.js";import"./part-VTCKWQW5.js";import{b as K,d as h,f as c,g as _,h as z,m as f}from"./part-RZWRK72K.js";var E=f(void 0);var Ie=[["newest","Newest","The newest state of the database"],["asOf","As of\u2026","The answer at an earlier moment"],["changes","Changes\u2026","What differs between two moments"],["live","Live","The answer as a stream: rows come and go"]],De={asOf:u(async()=>(await import("./part-VXFQS44P.js")).AsOf),changes:u(async()=>(await import("./part-TLAD43CB.js")).Changes),live:u(async()=>(await import("./part-7EEIZEMD.js")).LiveControls)};function he(){let e=P.value;return n`
    <section class="moment" aria-label="Moment">
      <div class="row segments" role="group" aria-label="Moment of the answer">
        ${Ie.map(([t,r,o])=>n`<button type="button" key=${t} class="quiet" title=${o} aria-pressed=${e===t} onClick=${()=>se(t)}>${r}</button>`)}
      </div>
      ${e!=="newest"&&n`<div class="moment-controls"><${De[e]} key=${e} /></div>`}
    </section>
  `}function be({field:e,text:t,onChange:r,problem:o}){let{kind:i,places:a}=e,s=Ne(e,t);if(s===void 0)return n`<input class="mono" aria-label=${e.text} aria-describedby=${o} value=${t} placeholder="EDN" onInput=${p=>r(p.target.value)} />`;let m=p=>r(je(e,p)),g=(p,l)=>d=>m(s.map((w,O)=>O===p?w.map((Le,He)=>He===l?d:Le):w)),v=i!=="tuple";return n`
    <table class="argument-rows">
      ${i!=="list"&&n`<thead><tr>${a.map(({name:p,type:l})=>n`<th scope="col" title=${l??""}>${p}</th>`)}${v&&n`<td></td>`}</tr></thead>`}
      <tbody>
        ${s.map((p,l)=>n`<tr key=${l}>
            ${a.map(({name:d,type:w},O)=>n`<td><${k} label=${v?`${d}, row ${l+1}`:d} type=${w} text=${p[O]??""} onChange=${g(l,O)} problem=${o} /></td>`)}
            ${v&&n`<td><button type="button" class="quiet small" aria-label=${`Remove row ${l+1}`} disabled=${s.length===1} onClick=${()=>m(s.filter((d,w)=>w!==l))}>✕</button></td>`}
          </tr>`)}
      </tbody>
    </table>
    ${v&&n`<button type="button" class="quiet small" onClick=${()=>m([...s,a.map(()=>M)])}>Add ${i==="list"?"a value":"a row"}</button>`}
  `}function Ne({kind:e,places:t},r){let o=t.map(()=>M);if(r.trim()==="")return[o];let i=I(r);if(i===void 0)return;if(e==="tuple")return i.length<=t.length?[[...i,...o].slice(0,t.length)]:void 0;if(e==="list")return i.length===0?[o]:i.map(s=>[s]);let a=i.map(I);if(a.every(s=>s?.length===t.length))return a.length===0?[o]:a}function je({kind:e},t){return t.every(r=>r.every(o=>o.trim()===""||o===M))&&t.length===1?"":e==="tuple"?A(t[0]??[]):e==="list"?A(t.map(r=>r[0]??"")):A(t.map(A))}function ge({text:e,onChange:t,onRun:r}){let o=z(()=>f(e),[]);return c(()=>{o.value=e},[e]),c(()=>o.subscribe(i=>t(i)),[t]),n`<div class="argument-rules"><${q} label="Rules" text=${o} onRun=${r} /></div>`}var ve={asOfT:{title:"as of transaction",key:":as-of",type:"long"},asOf:{title:"as of instant (UTC)",key:":as-of",type:"instant"},sinceT:{title:"since transaction",key:":since",type:"long"},since:{title:"since instant (UTC)",key:":since",type:"instant"},history:{title:"all of history",key:":history",type:"true"},tuples:{title:"a list of tuples",key:"",type:void 0}};function Be(e){if(e.trim()==="")return{way:"asOfT",value:""};let[,t,r=""]=/^\{:basis \{(:as-of|:since|:history) ?(.*)\}\}$/.exec(e)??[];if(t===void 0)return;if(t===":history")return{way:"history",value:"true"};let o=r.startsWith("#inst");return{way:t===":as-of"?o?"asOf":"asOfT":o?"since":"sinceT",value:r}}function we({field:e,text:t,onChange:r,problem:o}){let i=Be(t),[a,s]=h(i?.way??"tuples"),m=t===""?a:i?.way??"tuples",g=ve[m],v=l=>r(l===""?"":g?.key?`{:basis {${g.key} ${l}}}`:l),p=l=>{let d=l.target.value;s(d),r(d==="history"?"{:basis {:history true}}":"")};return n`<span class="lookup">
    <select aria-label=${`${e.text}: which database`} value=${m} onChange=${p}>
      ${Object.entries(ve).map(([l,{title:d}])=>n`<option key=${l} value=${l}>${d}</option>`)}
    </select>
    ${m!=="history"&&n`<${k} label=${e.text} type=${g?.type} text=${g?.key?i?.value??"":t} onChange=${v} problem=${o} />`}
  </span>`}var Ue=[];function ke(e){return Ue[e]??=t=>{(S.peek()[e]??"")!==t&&(S.value=j.peek().map((r,o)=>o===e?t:S.peek()[o]??""))}}function Ce(){let e=j.value;return e.length===0?null:n`
    <form class="arguments" aria-label="Arguments" onSubmit=${r=>{r.preventDefault(),y()}} noValidate>
      ${e.map((r,o)=>n`<${Ve} key=${`${o} ${r.kind} ${r.text}`} field=${r} i=${o} />`)}
      <button type="submit" class="hidden">Run with these arguments</button>
    </form>
  `}function Ve({field:e,i:t}){let r=S.value[t]??"",o=oe.value?ne.value[t]:void 0,i=`argument-problem-${t}`,a=o?i:void 0,[s]=e.places,m={field:e,text:r,onChange:ke(t),problem:a,onRun:()=>{y()}};return n`
    <fieldset class=${`argument argument-${e.kind}`}>
      <legend><code>${e.text}</code>${e.places.length===1&&s?.type?n` <span class="note">${s.type==="instant"?"instant, UTC":s.type}</span>`:null}</legend>
      ${e.kind==="scalar"?n`<${k} label=${e.text} type=${s?.type} text=${r} onChange=${ke(t)} problem=${a} name=${`argument-${t}`} />`:e.kind==="rules"?n`<${ge} ...${m} />`:e.kind==="source"?n`<${we} ...${m} />`:n`<${be} ...${m} />`}
      ${o&&n`<p class="argument-problem" id=${i}>${o}</p>`}
    </fieldset>
  `}var Ge=u(async()=>(await import("./part-O6Y3NVPY.js")).Why),Qe=u(async()=>(await import("./part-F2GBP6AW.js")).WhyNot);function Te(e,t){$("Why this row",Ge,{answer:e,row:t})}function Ae(e){$("Why not\u2026",Qe,{answer:e})}var Ke=u(async()=>(await import("./part-CYRKAYBQ.js")).RowHistory),xe=[{label:"Why",run:e=>b.value&&Te(b.value,e)},{label:"History",run:e=>b.value&&$("History of this row",Ke,{answer:b.value,row:e})}];function Re({answer:e}){let{columns:t,rows:r,warnings:o}=e;return r.length>0?n`<${ye} label="Answer" columns=${t} rows=${r} marks=${le(e)} actions=${xe} />`:n`
    <div class="empty">
      <p><strong>No rows.</strong> The query ran, and nothing that you may read fits all of its clauses.</p>
      <p>
        ${o.length>0?"The warnings above may say why. ":""}Leave clauses out one by one, or ask for less in each, to see which of them lets nothing pass.
      </p>
    </div>
  `}var _e=[{name:"table",title:"Table",isOffered:()=>!0,component:Re},{name:"chart",title:"Chart",isOffered:ce,component:u(async()=>(await import("./part-SWQTARKQ.js")).Chart)},{name:"graph",title:"Graph",isOffered:fe,component:u(async()=>(await import("./part-C2QOYRSA.js")).Graph)},{name:"plan",title:"Plan",isOffered:()=>!0,component:u(async()=>(await import("./part-SCIIWFNZ.js")).Plan)}],W=f("table");function Se(e){return _e.filter(({isOffered:t})=>t(e))}var ze=u(async()=>(await import("./part-YZCFFBIJ.js")).SaveMenu);function Fe(){let e=b.value;return n`
    <section class="results" aria-label="Answer" aria-busy=${F.value} data-ended=${te.value}>
      <${Je} />
      ${e?n`<${Ye} answer=${e} />`:!N.value&&n`<p class="empty">${F.value?"Asking\u2026":"Ctrl-Enter in the editor runs the query."}</p>`}
    </section>
  `}function Je(){let e=N.value;if(!e)return null;let{line:t,column:r}=e;return n`<div>
    <${ae} error=${e} />
    ${t!==void 0&&r!==void 0&&!e.origin&&n`<button type="button" class="quiet small" onClick=${()=>E.value={line:t,column:r}}>Go to line ${t}</button>`}
  </div>`}function Ye({answer:e}){let t=Se(e),r=t.find(({name:o})=>o===W.value)??t[0];return n`
    <${ue.Provider} value=${me(e)}>
      <div class="results-head">
        ${t.length>1&&n`<${Xe} views=${t} current=${r?.name} />`}
        <div class="note row">
          ${P.value!=="live"&&n`<span role="status">${Ze(e)}</span>`}
          <button type="button" class="quiet small" onClick=${()=>Ae(e)}>Why not…</button>
          ${e.columns.some(({type:o})=>o==="instant")&&n`<${pe} />`}
          ${e.rows.length>0&&n`<${ze} answer=${e} />`}
        </div>
      </div>
      <${et} warnings=${e.warnings} />
      <div class="view" id="view" role=${t.length>1?"tabpanel":void 0} aria-label=${t.length>1?r?.title:void 0}>
        ${r&&n`<${r.component} key=${r.name} answer=${e} />`}
      </div>
    <//>
  `}function Ze({rows:e,basisT:t,stats:r}){let{elapsedMs:o,engine:i,cache:a}=r;return`${`${e.length.toLocaleString()} ${e.length===1?"row":"rows"}`} at t ${t} in ${o.toFixed(1)} ms, ${i.toLowerCase()}, cache ${a.toLowerCase()}`}function Xe({views:e,current:t}){return n`
    <div class="tabs" role="tablist" aria-label="Views of the answer" onKeyDown=${o=>{let i={ArrowRight:1,ArrowLeft:-1}[o.key],a=e.findIndex(({name:m})=>m===t),s=i===void 0?void 0:e.at((a+i)%e.length);s&&(o.preventDefault(),W.value=s.name,o.currentTarget.querySelector(`[data-view="${s.name}"]`)?.focus())}}>
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
            onClick=${()=>W.value=o}
          >
            ${i}
          </button>
        `)}
    </div>
  `}function et({warnings:e}){return e.length===0?null:n`<ul class="warnings" aria-label="Warnings">
    ${e.map(({code:t,message:r,line:o,column:i},a)=>n`
        <li key=${a}>
          <strong>${t}</strong> ${r}
          ${o!==null&&n` <button type="button" class="quiet small" onClick=${()=>E.value={line:o,column:i??1}}>line ${o}, column ${i??1}</button>`}
        </li>
      `)}
  </ul>`}var L=f("");function U(e){L.value=e,window.setTimeout(()=>{L.value===e&&(L.value="")},4e3)}async function tt(){let{formatted:e}=await import("./part-LCNKJTKU.js"),t=e(R.value);t===void 0?U("The brackets or quotes of the query do not match."):R.value=t}async function nt(){try{await navigator.clipboard.writeText(ie()),U("The link is copied: query, arguments and moment are in it.")}catch{U("This browser does not let the page copy; the address of the page is the link once the query has run.")}}var C=f(void 0);async function ot(){C.value=C.value?void 0:(await import("./part-4ZKRBXCM.js")).Builder}async function rt(){let{History:e}=await import("./part-BWY2KPSF.js");$("History",e,{})}async function it(){let{SavedQueries:e}=await import("./part-DDP3FFP5.js");$("Saved queries",e,{})}function Ee(){return n`
    <div class="row toolbar" role="toolbar" aria-label="Query">
      <button type="button" onClick=${()=>{y()}} title="Ctrl-Enter" aria-keyshortcuts="Control+Enter">Run</button>
      ${F.value&&n`<button type="button" class="quiet" onClick=${re}>Cancel</button>`}
      <button type="button" class="quiet" onClick=${()=>{tt()}}>Format</button>
      <button type="button" class="quiet" aria-pressed=${C.value?"true":"false"} onClick=${()=>{ot()}}>Builder</button>
      <button type="button" class="quiet" onClick=${()=>{nt()}}>Copy link</button>
      <button type="button" class="quiet" onClick=${()=>{rt()}}>History</button>
      <button type="button" class="quiet" onClick=${()=>{it()}}>Saved</button>
      <span class="note" role="status">${L.value}</span>
    </div>
  `}var st=async()=>(await import("./part-AKSSYHP7.js")).assistance;function V(){return n`
    <section class="ask" aria-label="Query">
      <${q} label="Query" text=${R} onRun=${y} extensions=${st} destination=${E} />
      ${C.value&&n`<${C.value} />`}
      <${Ce} />
      <${Ee} />
    </section>
    <${he} />
    <${Fe} />
  `}function Oe({title:e,onClose:t,children:r}){let o=_(null);return c(()=>o.current?.showModal(),[]),n`
    <dialog ref=${o} onClose=${t} aria-label=${e}>
      <header class="row">
        <h2>${e}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick=${()=>o.current?.close()}>✕</button>
      </header>
      ${r}
    </dialog>
  `}function qe(){let[e,t]=h(!1),{principal:r,roles:o=[]}=x.value??{},i=r??(x.value?"no authentication":"unknown");return n`
    <button type="button" class="quiet" aria-label=${`Identity: ${i}`} onClick=${()=>t(!0)} title=${`Roles: ${o.join(", ")||"none"}`}>
      <span class="wide-only">Identity: </span>${i}
    </button>
    ${e&&n`<${Oe} title="Identity" onClose=${()=>t(!1)}><${G} /><//>`}
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
  `}function Me(){let e=D.value;if(e===void 0)return null;let t=()=>{D.value=void 0,y()};return n`<p class="looking-as" role="status">
    Ask shows what roles ${e.roles.join(", ")||"none"} with claims <code>${JSON.stringify(e.claims)}</code> see.
    <button type="button" class="quiet" onClick=${t}>Look as yourself</button>
  </p>`}var Pe={ask:{title:"Ask",load:()=>V},entity:{title:"Entity",load:async()=>(await import("./part-3UEYPFL4.js")).EntityPage,isUnlisted:!0},schema:{title:"Schema",load:async()=>(await import("./part-UU6PIFQ4.js")).Schema},change:{title:"Change",load:async()=>(await import("./part-5657VSRP.js")).Change},whom:{title:"As whom",load:async()=>(await import("./part-ZYNI2Z72.js")).Whom,forAdmins:!0},health:{title:"Health",load:async()=>(await import("./part-KKB6C3FU.js")).Health}};function We(){c(()=>{Z().catch(()=>{})},[]);let e=ee.value.page,t=Object.entries(Pe).filter(([,r])=>!r.isUnlisted&&(!r.forAdmins||X()));return n`
    <a class="skip" href="#content" onClick=${at}>Skip to the content</a>
    <header class="bar">
      <a class="logo" href="#/ask">adalog</a>
      <nav aria-label="Pages">
        ${t.map(([r,{title:o}])=>n`<a key=${r} href=${`#/${r}`} aria-current=${r===e?"page":void 0}>${o}</a>`)}
      </nav>
      <div class="bar-end">
        <a href="graphql">GraphiQL</a>
        <a href="docs/">Docs</a>
        <button type="button" class="quiet" aria-label=${`Theme: ${B.value}`} onClick=${$e} title="Switch between the system's, light and dark colours">
          <span class="wide-only">Theme: </span>${B.value}
        </button>
        <${qe} />
      </div>
    </header>
    <div class="body">
      <main id="content" tabindex="-1"><${Me} />${lt()?n`<${G} />`:n`<${ut} name=${e} />`}</main>
      <${de} />
    </div>
  `}function at(e){e.preventDefault(),document.getElementById("content")?.focus()}function lt(){return T.value?.code==="UNAUTHENTICATED"&&Y.value===void 0}function ut({name:e}){let t=Pe[e],[r,o]=h(e==="ask"?{name:e,component:V}:void 0),[i,a]=h();return c(()=>{a(void 0),Promise.resolve(t?.load()).then(s=>s&&o({name:e,component:s}),s=>a(`This page cannot be loaded: ${String(s)}. Load the console again.`))},[e]),c(()=>{document.title=t?`${t.title} \xB7 adalog`:"adalog"},[e]),t===void 0?n`<p class="note">There is no page ${e} in the console. <a href="#/ask">Ask</a> is the first one.</p>`:i?n`<p class="error" role="alert">${i}</p>`:r?.name===e?n`<${r.component} />`:n`<p class="note" role="status">Loading…</p>`}var Q=document.getElementById("console");Q&&(Q.replaceChildren(),K(n`<${We} />`,Q));
