import{a as v}from"./part-J5W2YAQZ.js";import{a as O,b as ye}from"./part-UYRX4PMV.js";import{b as ce}from"./part-RL5YYLX5.js";import"./part-OQ547FIK.js";import{a as fe}from"./part-FJ6BZCQO.js";import{a as B,b as $e}from"./part-ILQFNA5G.js";import"./part-FE22MOKL.js";import{b as de}from"./part-2XNXSVCA.js";import{a as ue,b as me}from"./part-2KF6VXRP.js";import{a as m}from"./part-WM2A6F6X.js";import{a as w,c as pe}from"./part-NEIUQMN6.js";import{a as W,b as se}from"./part-UZEOSD6D.js";import{b as le}from"./part-MBVJK7XD.js";import{A as ie,f as M,g as D,h as T,k as x,l as R,n as N,o as S,p as H,q as F,r as te,t as j,u as ne,v as oe,x as y,y as re}from"./part-JMNUNGTM.js";import"./part-HJLQ2EQ6.js";import{a as ee}from"./part-56TO7VDT.js";import{a as ae}from"./part-PQQ22TZ7.js";import{a as n}from"./part-H5APD4YT.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import{b as Y,c as A,d as Z,f as X}from"./part-MYFEB7IN.js";import"./part-7PNDONP5.js";import{b as J,c as C,e as I}from"./part-TSUFEJYE.js";import"./part-R45ROGHT.js";import"./part-VTCKWQW5.js";import{b as K,d as $,f as c,g as _,h as z,m as f}from"./part-RZWRK72K.js";var E=f(void 0);var De=[["newest","Newest","The newest state of the database"],["asOf","As of\u2026","The answer at an earlier moment"],["changes","Changes\u2026","What differs between two moments"],["live","Live","The answer as a stream: rows come and go"]],Ne={asOf:m(async()=>(await import("./part-BG7VD36D.js")).AsOf),changes:m(async()=>(await import("./part-LEVC2BHP.js")).Changes),live:m(async()=>(await import("./part-M5J6SJOE.js")).LiveControls)};function he(){let e=W.value;return n`
    <section class="moment" aria-label="Moment">
      <div class="row segments" role="group" aria-label="Moment of the answer">
        ${De.map(([t,r,o])=>n`<button type="button" key=${t} class="quiet" title=${o} aria-pressed=${e===t} onClick=${()=>se(t)}>${r}</button>`)}
      </div>
      ${e!=="newest"&&n`<div class="moment-controls"><${Ne[e]} key=${e} /></div>`}
    </section>
  `}function be({field:e,text:t,onChange:r,problem:o}){let{kind:i,places:a}=e,s=He(e,t);if(s===void 0)return n`<input class="mono" aria-label=${e.text} aria-describedby=${o} value=${t} placeholder="EDN" onInput=${d=>r(d.target.value)} />`;let u=d=>r(je(e,d)),h=(d,l)=>p=>u(s.map((g,q)=>q===d?g.map((Le,Ie)=>Ie===l?p:Le):g)),b=i!=="tuple";return n`
    <table class="argument-rows">
      ${i!=="list"&&n`<thead><tr>${a.map(({name:d,type:l})=>n`<th scope="col" title=${l??""}>${d}</th>`)}${b&&n`<td></td>`}</tr></thead>`}
      <tbody>
        ${s.map((d,l)=>n`<tr key=${l}>
            ${a.map(({name:p,type:g},q)=>n`<td><${v} label=${b?`${p}, row ${l+1}`:p} type=${g} text=${d[q]??""} onChange=${h(l,q)} problem=${o} /></td>`)}
            ${b&&n`<td><button type="button" class="quiet small" aria-label=${`Remove row ${l+1}`} disabled=${s.length===1} onClick=${()=>u(s.filter((p,g)=>g!==l))}>✕</button></td>`}
          </tr>`)}
      </tbody>
    </table>
    ${b&&n`<button type="button" class="quiet small" onClick=${()=>u([...s,a.map(()=>M)])}>Add ${i==="list"?"a value":"a row"}</button>`}
  `}function He({kind:e,places:t},r){let o=t.map(()=>M);if(r.trim()==="")return[o];let i=D(r);if(i===void 0)return;if(e==="tuple")return i.length<=t.length?[[...i,...o].slice(0,t.length)]:void 0;if(e==="list")return i.length===0?[o]:i.map(s=>[s]);let a=i.map(D);if(a.every(s=>s?.length===t.length))return a.length===0?[o]:a}function je({kind:e},t){return t.every(r=>r.every(o=>o.trim()===""||o===M))&&t.length===1?"":e==="tuple"?T(t[0]??[]):e==="list"?T(t.map(r=>r[0]??"")):T(t.map(T))}function ge({text:e,onChange:t,onRun:r}){let o=z(()=>f(e),[]);return c(()=>{o.value=e},[e]),c(()=>o.subscribe(i=>t(i)),[t]),n`<div class="argument-rules"><${O} label="Rules" text=${o} onRun=${r} /></div>`}var ve={asOfT:{title:"as of transaction",key:":as-of",type:"long"},asOf:{title:"as of instant (UTC)",key:":as-of",type:"instant"},sinceT:{title:"since transaction",key:":since",type:"long"},since:{title:"since instant (UTC)",key:":since",type:"instant"},history:{title:"all of history",key:":history",type:"true"},tuples:{title:"a list of tuples",key:"",type:void 0}};function Be(e){if(e.trim()==="")return{way:"asOfT",value:""};let[,t,r=""]=/^\{:basis \{(:as-of|:since|:history) ?(.*)\}\}$/.exec(e)??[];if(t===void 0)return;if(t===":history")return{way:"history",value:"true"};let o=r.startsWith("#inst");return{way:t===":as-of"?o?"asOf":"asOfT":o?"since":"sinceT",value:r}}function we({field:e,text:t,onChange:r,problem:o}){let i=Be(t),[a,s]=$(i?.way??"tuples"),u=t===""?a:i?.way??"tuples",h=ve[u],b=l=>r(l===""?"":h?.key?`{:basis {${h.key} ${l}}}`:l),d=l=>{let p=l.target.value;s(p),r(p==="history"?"{:basis {:history true}}":"")};return n`<span class="lookup">
    <select aria-label=${`${e.text}: which database`} value=${u} onChange=${d}>
      ${Object.entries(ve).map(([l,{title:p}])=>n`<option key=${l} value=${l}>${p}</option>`)}
    </select>
    ${u!=="history"&&n`<${v} label=${e.text} type=${h?.type} text=${h?.key?i?.value??"":t} onChange=${b} problem=${o} />`}
  </span>`}var Ue=[];function ke(e){return Ue[e]??=t=>{(R.peek()[e]??"")!==t&&(R.value=j.peek().map((r,o)=>o===e?t:R.peek()[o]??""))}}function Ce(){let e=j.value;return e.length===0?null:n`
    <form class="arguments" aria-label="Arguments" onSubmit=${r=>{r.preventDefault(),y()}} noValidate>
      ${e.map((r,o)=>n`<${Ve} key=${`${o} ${r.kind} ${r.text}`} field=${r} i=${o} />`)}
      <button type="submit" class="hidden">Run with these arguments</button>
    </form>
  `}function Ve({field:e,i:t}){let r=R.value[t]??"",o=oe.value?ne.value[t]:void 0,i=`argument-problem-${t}`,a=o?i:void 0,[s]=e.places,u={field:e,text:r,onChange:ke(t),problem:a,onRun:()=>{y()}};return n`
    <fieldset class=${`argument argument-${e.kind}`}>
      <legend><code>${e.text}</code>${e.places.length===1&&s?.type?n` <span class="note">${s.type==="instant"?"instant, UTC":s.type}</span>`:null}</legend>
      ${e.kind==="scalar"?n`<${v} label=${e.text} type=${s?.type} text=${r} onChange=${ke(t)} problem=${a} name=${`argument-${t}`} />`:e.kind==="rules"?n`<${ge} ...${u} />`:e.kind==="source"?n`<${we} ...${u} />`:n`<${be} ...${u} />`}
      ${o&&n`<p class="argument-problem" id=${i}>${o}</p>`}
    </fieldset>
  `}var Ge=m(async()=>(await import("./part-JGX6FXVD.js")).Why),Qe=m(async()=>(await import("./part-5GWIYPYH.js")).WhyNot);function Te(e,t){w("Why this row",Ge,{answer:e,row:t})}function Ae(e){w("Why not\u2026",Qe,{answer:e})}var xe=[{label:"Why",run:e=>S.value&&Te(S.value,e)}];function Re({answer:e}){let{columns:t,rows:r,warnings:o}=e;return r.length>0?n`<${ye} label="Answer" columns=${t} rows=${r} marks=${le(e)} actions=${xe} />`:n`
    <div class="empty">
      <p><strong>No rows.</strong> The query ran, and nothing that you may read fits all of its clauses.</p>
      <p>
        ${o.length>0?"The warnings above may say why. ":""}Leave clauses out one by one, or ask for less in each, to see which of them lets nothing pass.
      </p>
    </div>
  `}var Ke=[{name:"table",title:"Table",isOffered:()=>!0,component:Re},{name:"chart",title:"Chart",isOffered:ce,component:m(async()=>(await import("./part-V5ZWJ43U.js")).Chart)},{name:"graph",title:"Graph",isOffered:fe,component:m(async()=>(await import("./part-MOKOAO6Y.js")).Graph)}],P=f("table");function Se(e){return Ke.filter(({isOffered:t})=>t(e))}var _e=m(async()=>(await import("./part-CDTU3OE6.js")).SaveMenu);function Fe(){let e=S.value;return n`
    <section class="results" aria-label="Answer" aria-busy=${F.value} data-ended=${te.value}>
      <${ze} />
      ${e?n`<${Je} answer=${e} />`:!H.value&&n`<p class="empty">${F.value?"Asking\u2026":"Ctrl-Enter in the editor runs the query."}</p>`}
    </section>
  `}function ze(){let e=H.value;if(!e)return null;let{line:t,column:r}=e;return n`<div>
    <${ae} error=${e} />
    ${t!==void 0&&r!==void 0&&!e.origin&&n`<button type="button" class="quiet small" onClick=${()=>E.value={line:t,column:r}}>Go to line ${t}</button>`}
  </div>`}function Je({answer:e}){let t=Se(e),r=t.find(({name:o})=>o===P.value)??t[0];return n`
    <${ue.Provider} value=${me(e)}>
      <div class="results-head">
        ${t.length>1&&n`<${Ze} views=${t} current=${r?.name} />`}
        <div class="note row">
          ${W.value!=="live"&&n`<span role="status">${Ye(e)}</span>`}
          <button type="button" class="quiet small" onClick=${()=>Ae(e)}>Why not…</button>
          ${e.columns.some(({type:o})=>o==="instant")&&n`<${de} />`}
          ${e.rows.length>0&&n`<${_e} answer=${e} />`}
        </div>
      </div>
      <${Xe} warnings=${e.warnings} />
      <div class="view" id="view" role=${t.length>1?"tabpanel":void 0} aria-label=${t.length>1?r?.title:void 0}>
        ${r&&n`<${r.component} key=${r.name} answer=${e} />`}
      </div>
    <//>
  `}function Ye({rows:e,basisT:t,stats:r}){let{elapsedMs:o,engine:i,cache:a}=r;return`${`${e.length.toLocaleString()} ${e.length===1?"row":"rows"}`} at t ${t} in ${o.toFixed(1)} ms, ${i.toLowerCase()}, cache ${a.toLowerCase()}`}function Ze({views:e,current:t}){return n`
    <div class="tabs" role="tablist" aria-label="Views of the answer" onKeyDown=${o=>{let i={ArrowRight:1,ArrowLeft:-1}[o.key],a=e.findIndex(({name:u})=>u===t),s=i===void 0?void 0:e.at((a+i)%e.length);s&&(o.preventDefault(),P.value=s.name,o.currentTarget.querySelector(`[data-view="${s.name}"]`)?.focus())}}>
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
            onClick=${()=>P.value=o}
          >
            ${i}
          </button>
        `)}
    </div>
  `}function Xe({warnings:e}){return e.length===0?null:n`<ul class="warnings" aria-label="Warnings">
    ${e.map(({code:t,message:r,line:o,column:i},a)=>n`
        <li key=${a}>
          <strong>${t}</strong> ${r}
          ${o!==null&&n` <button type="button" class="quiet small" onClick=${()=>E.value={line:o,column:i??1}}>line ${o}, column ${i??1}</button>`}
        </li>
      `)}
  </ul>`}var L=f("");function U(e){L.value=e,window.setTimeout(()=>{L.value===e&&(L.value="")},4e3)}async function et(){let{formatted:e}=await import("./part-LCNKJTKU.js"),t=e(x.value);t===void 0?U("The brackets or quotes of the query do not match."):x.value=t}async function tt(){try{await navigator.clipboard.writeText(ie()),U("The link is copied: query, arguments and moment are in it.")}catch{U("This browser does not let the page copy; the address of the page is the link once the query has run.")}}var k=f(void 0);async function nt(){k.value=k.value?void 0:(await import("./part-M7CORJR2.js")).Builder}async function ot(){let{History:e}=await import("./part-YU4P3IEL.js");w("History",e,{})}async function rt(){let{SavedQueries:e}=await import("./part-4TZB2GVY.js");w("Saved queries",e,{})}function Ee(){return n`
    <div class="row toolbar" role="toolbar" aria-label="Query">
      <button type="button" onClick=${()=>{y()}} title="Ctrl-Enter" aria-keyshortcuts="Control+Enter">Run</button>
      ${F.value&&n`<button type="button" class="quiet" onClick=${re}>Cancel</button>`}
      <button type="button" class="quiet" onClick=${()=>{et()}}>Format</button>
      <button type="button" class="quiet" aria-pressed=${k.value?"true":"false"} onClick=${()=>{nt()}}>Builder</button>
      <button type="button" class="quiet" onClick=${()=>{tt()}}>Copy link</button>
      <button type="button" class="quiet" onClick=${()=>{ot()}}>History</button>
      <button type="button" class="quiet" onClick=${()=>{rt()}}>Saved</button>
      <span class="note" role="status">${L.value}</span>
    </div>
  `}var it=async()=>(await import("./part-JZE7RR57.js")).assistance;function V(){return n`
    <section class="ask" aria-label="Query">
      <${O} label="Query" text=${x} onRun=${y} extensions=${it} destination=${E} />
      ${k.value&&n`<${k.value} />`}
      <${Ce} />
      <${Ee} />
    </section>
    <${he} />
    <${Fe} />
  `}function qe({title:e,onClose:t,children:r}){let o=_(null);return c(()=>o.current?.showModal(),[]),n`
    <dialog ref=${o} onClose=${t} aria-label=${e}>
      <header class="row">
        <h2>${e}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick=${()=>o.current?.close()}>✕</button>
      </header>
      ${r}
    </dialog>
  `}function Oe(){let[e,t]=$(!1),{principal:r,roles:o=[]}=A.value??{},i=r??(A.value?"no authentication":"unknown");return n`
    <button type="button" class="quiet" aria-label=${`Identity: ${i}`} onClick=${()=>t(!0)} title=${`Roles: ${o.join(", ")||"none"}`}>
      <span class="wide-only">Identity: </span>${i}
    </button>
    ${e&&n`<${qe} title="Identity" onClose=${()=>t(!1)}><${G} /><//>`}
  `}function G(){let{principal:e,roles:t=[],expires:r}=A.value??{};return n`
    <form class="stack" onSubmit=${i=>{i.preventDefault();let a=new FormData(i.target).get("token");I(typeof a=="string"?a.trim():"")}}>
      ${A.value&&n`<dl class="facts">
        <dt>Principal</dt>
        <dd>${e??"none: this server does not authenticate"}</dd>
        <dt>Roles</dt>
        <dd>${t.join(", ")||"none"}</dd>
        <dt>Expires</dt>
        <dd>${r??"never"}</dd>
      </dl>`}
      ${C.value&&n`<p class="error" role="alert">The server refused a request: ${C.value.message}</p>`}
      <label>Bearer token <input name="token" type="password" autocomplete="off" required /></label>
      <p class="note">It is kept in this tab until the tab is closed, and sent in the Authorization header.</p>
      <div class="row">
        <button type="submit">Use this token</button>
        ${J.value&&n`<button type="button" onClick=${()=>I("")}>Forget the token</button>`}
      </div>
    </form>
  `}function Me(){let e=N.value;if(e===void 0)return null;let t=()=>{N.value=void 0,y()};return n`<p class="looking-as" role="status">
    Ask shows what roles ${e.roles.join(", ")||"none"} with claims <code>${JSON.stringify(e.claims)}</code> see.
    <button type="button" class="quiet" onClick=${t}>Look as yourself</button>
  </p>`}var We={ask:{title:"Ask",load:()=>V},entity:{title:"Entity",load:async()=>(await import("./part-PMC4AN27.js")).EntityPage,isUnlisted:!0},schema:{title:"Schema",load:async()=>(await import("./part-3PDWF2BZ.js")).Schema},change:{title:"Change",load:async()=>(await import("./part-ZKKX6FWF.js")).Change},whom:{title:"As whom",load:async()=>(await import("./part-GXF34KNV.js")).Whom,forAdmins:!0},health:{title:"Health",load:async()=>(await import("./part-KKB6C3FU.js")).Health}};function Pe(){c(()=>{Z().catch(()=>{})},[]);let e=ee.value.page,t=Object.entries(We).filter(([,r])=>!r.isUnlisted&&(!r.forAdmins||X()));return n`
    <a class="skip" href="#content" onClick=${st}>Skip to the content</a>
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
        <${Oe} />
      </div>
    </header>
    <div class="body">
      <main id="content" tabindex="-1"><${Me} />${at()?n`<${G} />`:n`<${lt} name=${e} />`}</main>
      <${pe} />
    </div>
  `}function st(e){e.preventDefault(),document.getElementById("content")?.focus()}function at(){return C.value?.code==="UNAUTHENTICATED"&&Y.value===void 0}function lt({name:e}){let t=We[e],[r,o]=$(e==="ask"?{name:e,component:V}:void 0),[i,a]=$();return c(()=>{a(void 0),Promise.resolve(t?.load()).then(s=>s&&o({name:e,component:s}),s=>a(`This page cannot be loaded: ${String(s)}. Load the console again.`))},[e]),c(()=>{document.title=t?`${t.title} \xB7 adalog`:"adalog"},[e]),t===void 0?n`<p class="note">There is no page ${e} in the console. <a href="#/ask">Ask</a> is the first one.</p>`:i?n`<p class="error" role="alert">${i}</p>`:r?.name===e?n`<${r.component} />`:n`<p class="note" role="status">Loading…</p>`}var Q=document.getElementById("console");Q&&(Q.replaceChildren(),K(n`<${Pe} />`,Q));
