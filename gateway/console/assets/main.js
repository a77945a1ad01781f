import{a as W,b as Ce}from"./part-NP4RHPSR.js";import"./part-WNXJMTH6.js";import{a as S,c as Ae,d as Se,f as xe,g as Oe,i as Re}from"./part-UR4SPDYF.js";import"./part-I5A673K4.js";import{b as we}from"./part-C7KPLJEK.js";import"./part-OQ547FIK.js";import{b as be,d as ge}from"./part-GJOCZJZ7.js";import{a as ke}from"./part-FJ6BZCQO.js";import{a as K,b as Te}from"./part-E2GJ4IGD.js";import{a as $e,b as he}from"./part-LJZ7Y7LB.js";import{a as u}from"./part-7VBUNBJ5.js";import{a as h,c as ve}from"./part-UVVRTPSV.js";import{b as ye}from"./part-JFLYFYVR.js";import{A as de,B as N,C as pe,a as H,b as d,c as ne,f as P,g as U,h as R,k as w,l as k,m as I,n as V,o as $,p as G,q as M,r as ae,t as _,u as le,v as ue,x as me,y as c,z as ce}from"./part-VWBY6ZJU.js";import"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{a as fe}from"./part-SF3TZDU3.js";import{a as t}from"./part-BGX5RPQL.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import{a as ie}from"./part-C3FHAUT3.js";import"./part-5SBNPJNF.js";import{a as q,b as g,c as E,d as re,f as se}from"./part-E36UJHIO.js";import{b as j,c as O,e as B}from"./part-XTEOP6XV.js";import"./part-ZJ7BM5PU.js";import"./part-VTCKWQW5.js";import{b as z,d as b,f,h as X,i as ee,m as te,n as v,p as oe}from"./part-ST7TEUSA.js";var F=v(void 0);oe(()=>{I.value!==void 0&&d.peek()!=="changes"&&(d.value="asOf")});function qe(e){let o=d.value;if(e===o)return;d.value=e;let n=o==="newest"||o==="asOf",r=I.peek()!==void 0;(e==="newest"||e==="live")&&(I.value=void 0);let s=e==="newest"?r||!n:e==="asOf"&&!n;te(()=>{s&&$.value?c():N()})}var nt=[["newest","Newest","The newest state of the database"],["asOf","As of\u2026","The answer at an earlier moment"],["changes","Changes\u2026","What differs between two moments"],["live","Live","The answer as a stream: rows come and go"]],rt={asOf:u(async()=>(await import("./part-LAUABJXB.js")).AsOf),changes:u(async()=>(await import("./part-WISOCXQI.js")).Changes),live:u(async()=>(await import("./part-MAUSH5XD.js")).LiveControls)};function Ee(){return t`
    <div class="row segments" role="group" aria-label="Moment of the answer">
      ${nt.map(([e,o,n])=>t`<button type="button" key=${e} class="quiet" title=${n} aria-pressed=${d.value===e} onClick=${()=>qe(e)}>${o}</button>`)}
    </div>
  `}function Me(){let e=d.value;return e==="newest"?null:t`<section class="moment" aria-label="Moment"><${rt[e]} key=${e} /></section>`}function Fe({field:e,text:o,onChange:n,problem:r}){let{kind:s,places:a}=e,i=st(e,o);if(i===void 0)return t`<input class="mono" aria-label=${e.text} aria-describedby=${r} value=${o} placeholder="EDN" onInput=${p=>n(p.target.value)} />`;let m=p=>n(it(e,p)),C=(p,l)=>y=>m(i.map((A,L)=>L===p?A.map((tt,ot)=>ot===l?y:tt):A)),T=s!=="tuple";return t`
    <table class="argument-rows">
      ${s!=="list"&&t`<thead><tr>${a.map(({name:p,type:l})=>t`<th scope="col" title=${l??""}>${p}</th>`)}${T&&t`<td></td>`}</tr></thead>`}
      <tbody>
        ${i.map((p,l)=>t`<tr key=${l}>
            ${a.map(({name:y,type:A},L)=>t`<td><${S} label=${T?`${y}, row ${l+1}`:y} type=${A} text=${p[L]??""} onChange=${C(l,L)} problem=${r} /></td>`)}
            ${T&&t`<td><button type="button" class="quiet small" aria-label=${`Remove row ${l+1}`} disabled=${i.length===1} onClick=${()=>m(i.filter((y,A)=>A!==l))}>✕</button></td>`}
          </tr>`)}
      </tbody>
    </table>
    ${T&&t`<button type="button" class="quiet small" onClick=${()=>m([...i,a.map(()=>P)])}>Add ${s==="list"?"a value":"a row"}</button>`}
  `}function st({kind:e,places:o},n){let r=o.map(()=>P);if(n.trim()==="")return[r];let s=U(n);if(s===void 0)return;if(e==="tuple")return s.length<=o.length?[[...s,...r].slice(0,o.length)]:void 0;if(e==="list")return s.length===0?[r]:s.map(i=>[i]);let a=s.map(U);if(a.every(i=>i?.length===o.length))return a.length===0?[r]:a}function it({kind:e},o){return o.every(n=>n.every(r=>r.trim()===""||r===P))&&o.length===1?"":e==="tuple"?R(o[0]??[]):e==="list"?R(o.map(n=>n[0]??"")):R(o.map(R))}function Le({text:e,onChange:o,onRun:n}){let r=ee(()=>v(e),[]);return f(()=>{r.value=e},[e]),f(()=>r.subscribe(s=>o(s)),[o]),t`<div class="argument-rules"><${W} label="Rules" text=${r} onRun=${n} /></div>`}var We={asOfT:{title:"as of transaction",key:":as-of",type:"long"},asOf:{title:"as of instant (UTC)",key:":as-of",type:"instant"},sinceT:{title:"since transaction",key:":since",type:"long"},since:{title:"since instant (UTC)",key:":since",type:"instant"},history:{title:"all of history",key:":history",type:"true"},tuples:{title:"a list of tuples",key:"",type:void 0}};function at(e){if(e.trim()==="")return{way:"asOfT",value:""};let[,o,n=""]=/^\{:basis \{(:as-of|:since|:history) ?(.*)\}\}$/.exec(e)??[];if(o===void 0)return;if(o===":history")return{way:"history",value:"true"};let r=n.startsWith("#inst");return{way:o===":as-of"?r?"asOf":"asOfT":r?"since":"sinceT",value:n}}function Pe({field:e,text:o,onChange:n,problem:r}){let s=at(o),[a,i]=b(s?.way??"tuples"),m=o===""?a:s?.way??"tuples",C=We[m],T=l=>n(l===""?"":C?.key?`{:basis {${C.key} ${l}}}`:l),p=l=>{let y=l.target.value;i(y),n(y==="history"?"{:basis {:history true}}":"")};return t`<span class="lookup">
    <select aria-label=${`${e.text}: which database`} value=${m} onChange=${p}>
      ${Object.entries(We).map(([l,{title:y}])=>t`<option key=${l} value=${l}>${y}</option>`)}
    </select>
    ${m!=="history"&&t`<${S} label=${e.text} type=${C?.type} text=${C?.key?s?.value??"":o} onChange=${T} problem=${r} />`}
  </span>`}var lt=[];function Ie(e){return lt[e]??=o=>{(k.peek()[e]??"")!==o&&(k.value=_.peek().map((n,r)=>r===e?o:k.peek()[r]??""))}}function Ne(){let e=_.value;return e.length===0?null:t`
    <form class="arguments" aria-label="Arguments" onSubmit=${n=>{n.preventDefault(),c()}} noValidate>
      ${e.map((n,r)=>t`<${ut} key=${`${r} ${n.kind} ${n.text}`} field=${n} i=${r} />`)}
      <button type="submit" class="hidden">Run with these arguments</button>
    </form>
  `}function ut({field:e,i:o}){let n=k.value[o]??"",r=ue.value?le.value[o]:void 0,s=`argument-problem-${o}`,a=r?s:void 0,[i]=e.places,m={field:e,text:n,onChange:Ie(o),problem:a,onRun:()=>{c()}};return t`
    <fieldset class=${`argument argument-${e.kind}`}>
      <legend><code>${e.text}</code>${e.places.length===1&&i?.type?t` <span class="note">${i.type==="instant"?"instant, UTC":i.type}</span>`:null}</legend>
      ${e.kind==="scalar"?t`<${S} label=${e.text} type=${i?.type} text=${n} onChange=${Ie(o)} problem=${a} name=${`argument-${o}`} />`:e.kind==="rules"?t`<${Le} ...${m} />`:e.kind==="source"?t`<${Pe} ...${m} />`:t`<${Fe} ...${m} />`}
      ${r&&t`<p class="argument-problem" id=${s}>${r}</p>`}
    </fieldset>
  `}var mt=u(async()=>(await import("./part-SPANE66A.js")).Why),ct=u(async()=>(await import("./part-FEVK6AAJ.js")).WhyNot);function De(e,o){h("Why this row",mt,{answer:e,row:o})}function He(e){h("Why not\u2026",ct,{answer:e})}var dt=u(async()=>(await import("./part-O2GULNHE.js")).RowHistory),je=[{label:"Why",short:"?",run:e=>$.value&&De($.value,e)},{label:"History",short:"\u21BA",run:e=>$.value&&h("History of this row",dt,{answer:$.value,row:e})}];function Be({answer:e}){let{columns:o,rows:n,warnings:r}=e;return f(()=>{ge(e).catch(()=>{})},[e]),n.length>0?t`<${Ce} label="Answer" columns=${o} rows=${n} marks=${ye(e)} actions=${je} />`:d.value==="changes"?t`<p class="empty"><strong>Nothing differs.</strong> The two moments have the same rows.</p>`:t`
    <div class="empty">
      <p><strong>No rows.</strong> The query ran, and nothing that you may read fits all of its clauses.</p>
      <p>
        ${r.length>0?"The warnings above may say why. ":""}Leave clauses out one by one, or ask for less in each, to see which of them lets nothing pass.
      </p>
    </div>
  `}var pt=[{name:"table",title:"Table",isOffered:()=>!0,component:Be},{name:"chart",title:"Chart",isOffered:we,component:u(async()=>(await import("./part-TN7Y24K4.js")).Chart)},{name:"graph",title:"Graph",isOffered:ke,component:u(async()=>(await import("./part-NE7VPZXR.js")).Graph)},{name:"plan",title:"Plan",isOffered:()=>!0,component:u(async()=>(await import("./part-BK3QKXAN.js")).Plan)}];function Ue(e){return pt.filter(({isOffered:o})=>o(e))}var Q=24,ft=3;function Ve(){return t`
    <div class="welcome">
      <${yt} />
      <${$t} />
      <section>
        <h2>Keys</h2>
        <dl class="keys">
          <dt><kbd>Ctrl</kbd> <kbd>Enter</kbd></dt>
          <dd>runs the query</dd>
          <dt><kbd>Ctrl</kbd> <kbd>Space</kbd></dt>
          <dd>completes attributes, variables, rules and built-ins</dd>
        </dl>
        <p class="note">No Datalog yet? <em>Builder</em> writes it. <a href="docs/tutorials/first-steps/">Learn it</a>, or look up its <a href="docs/reference/queries/">reference</a>.</p>
      </section>
    </div>
  `}function yt(){if(g.value===void 0)return null;let e=Ae(q.value),o=n=>{w.value=Re(xe(n,q.value),q.value),k.value=[],c()};return t`
    <section>
      <h2>Look at</h2>
      <p class="note">${Number(g.value.datomCount).toLocaleString()} datoms of ${Number(g.value.entityCount).toLocaleString()} entities, at t ${g.value.basisT}</p>
      ${e.length===0?t`<p>There is no attribute of your own yet. <a href="#/schema?view=declare">Declare one</a>, or <a href="#/change">write a transaction</a>.</p>`:t`<ul class="types">
            ${e.slice(0,Q).map(n=>{let r=Oe(Se(n,q.value))?.datomCount;return t`<li key=${n}>
                <button type="button" class="quiet" onClick=${()=>o(n)}>${n}${r!==void 0&&t` <span class="quiet-text">${Number(r).toLocaleString()}</span>`}</button>
              </li>`})}
          </ul>`}
      ${e.length>Q&&t`<p class="note">and ${e.length-Q} more in <a href="#/schema">Schema</a></p>`}
    </section>
  `}function $t(){let e=ne.value.slice(0,ft);return e.length===0?null:t`
    <section>
      <h2>Asked lately</h2>
      <ul class="history">
        ${e.map((o,n)=>t`<li key=${n}><button type="button" class="quiet history-entry" onClick=${()=>de(o)}><code>${o.query}</code></button></li>`)}
      </ul>
    </section>
  `}var ht=u(async()=>(await import("./part-4652JP4H.js")).SaveMenu);function _e(){let e=$.value;return t`
    <section class="results" aria-label="Answer" aria-busy=${M.value} data-ended=${ae.value}>
      <${bt} />
      ${e?t`<${vt} answer=${e} />`:!G.value&&(M.value?t`<p class="empty asking" role="status">Asking…</p>`:t`<${Ve} />`)}
    </section>
  `}function bt(){let e=G.value;if(!e)return null;let{line:o,column:n}=e;return t`<div>
    <${fe} error=${e} />
    ${o!==void 0&&n!==void 0&&!e.origin&&t`<button type="button" class="quiet small" onClick=${()=>F.value={line:o,column:n}}>Go to line ${o}</button>`}
  </div>`}function vt({answer:e}){let o=Ue(e),n=o.find(({name:r})=>r===H.value)??o[0];return t`
    <${$e.Provider} value=${he(e)}>
      <div class="results-head">
        ${o.length>1&&t`<${wt} views=${o} current=${n?.name} />`}
        <div class="note row">
          ${me.value&&t`<span class="edited">The query was edited since.</span>`}
          ${d.value!=="live"&&t`<span role="status">${gt(e)}</span>`}
          <button type="button" class="quiet small" onClick=${()=>He(e)}>Why not…</button>
          ${e.columns.some(({type:r})=>r==="instant")&&t`<${be} />`}
          ${e.rows.length>0&&t`<${ht} answer=${e} />`}
        </div>
      </div>
      <${kt} warnings=${e.warnings} />
      <div class="view" id="view" role=${o.length>1?"tabpanel":void 0} aria-label=${o.length>1?n?.title:void 0}>
        ${n&&t`<${n.component} key=${n.name} answer=${e} />`}
      </div>
    <//>
  `}function gt({rows:e,basisT:o,stats:n}){let{elapsedMs:r,engine:s,cache:a}=n;return`${`${e.length.toLocaleString()} ${e.length===1?"row":"rows"}`} at t ${o} in ${r.toFixed(1)} ms, ${s.toLowerCase()}, cache ${a.toLowerCase()}`}function Ge(e){H.value=e,N()}function wt({views:e,current:o}){return t`
    <div class="tabs" role="tablist" aria-label="Views of the answer" onKeyDown=${r=>{let s={ArrowRight:1,ArrowLeft:-1}[r.key],a=e.findIndex(({name:m})=>m===o),i=s===void 0?void 0:e.at((a+s)%e.length);i&&(r.preventDefault(),Ge(i.name),r.currentTarget.querySelector(`[data-view="${i.name}"]`)?.focus())}}>
      ${e.map(({name:r,title:s})=>t`
          <button
            type="button"
            role="tab"
            key=${r}
            class="quiet"
            data-view=${r}
            aria-selected=${r===o}
            aria-controls="view"
            tabindex=${r===o?0:-1}
            onClick=${()=>Ge(r)}
          >
            ${s}
          </button>
        `)}
    </div>
  `}function kt({warnings:e}){return e.length===0?null:t`<ul class="warnings" aria-label="Warnings">
    ${e.map(({code:o,message:n,line:r,column:s},a)=>t`
        <li key=${a}>
          <strong>${o}</strong> ${n}
          ${r!==null&&t` <button type="button" class="quiet small" onClick=${()=>F.value={line:r,column:s??1}}>line ${r}, column ${s??1}</button>`}
        </li>
      `)}
  </ul>`}var D=v("");function Y(e){D.value=e,window.setTimeout(()=>{D.value===e&&(D.value="")},4e3)}async function Ct(){let{formatted:e}=await import("./part-LCNKJTKU.js"),o=e(w.value);o===void 0?Y("The brackets or quotes of the query do not match."):w.value=o}async function Tt(){try{await navigator.clipboard.writeText(pe()),Y("The link is copied: query, arguments, moment and view are in it.")}catch{Y("This browser does not let the page copy; the address of the page is the link once the query has run.")}}var x=v(void 0);async function At(){x.value=x.value?void 0:(await import("./part-UA2HXA3B.js")).Builder}async function St(){let{History:e}=await import("./part-6UZK2RBF.js");h("History",e,{})}async function xt(){let{SavedQueries:e}=await import("./part-RTRLNFK7.js");h("Saved queries",e,{})}function Ke(){return t`
    <div class="row toolbar" role="toolbar" aria-label="Query">
      <button type="button" onClick=${()=>{c()}} title="Ctrl-Enter" aria-keyshortcuts="Control+Enter">Run</button>
      ${M.value&&t`<button type="button" class="quiet" onClick=${ce}>Cancel</button>`}
      <button type="button" class="quiet" onClick=${()=>{Ct()}}>Format</button>
      <button type="button" class="quiet" aria-pressed=${x.value?"true":"false"} onClick=${()=>{At()}}>Builder</button>
      <button type="button" class="quiet" onClick=${()=>{Tt()}}>Copy link</button>
      <button type="button" class="quiet" onClick=${()=>{St()}}>History</button>
      <button type="button" class="quiet" onClick=${()=>{xt()}}>Saved</button>
      <span class="note" role="status">${D.value}</span>
    </div>
  `}var Ot=async()=>(await import("./part-KASBOJKZ.js")).assistance;function J(){return t`
    <h1 class="hidden">Ask</h1>
    <section class="ask" aria-label="Query">
      <${W} label="Query" text=${w} onRun=${c} extensions=${Ot} destination=${F} />
      ${x.value&&t`<${x.value} />`}
      <${Ne} />
      <div class="row commands">
        <${Ke} />
        <${Ee} />
      </div>
    </section>
    <${Me} />
    <${_e} />
  `}function Qe({title:e,onClose:o,children:n}){let r=X(null);return f(()=>r.current?.showModal(),[]),t`
    <dialog ref=${r} onClose=${o} aria-label=${e}>
      <header class="row">
        <h2>${e}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick=${()=>r.current?.close()}>✕</button>
      </header>
      ${n}
    </dialog>
  `}function Ye(){let[e,o]=b(!1),{principal:n,roles:r=[]}=E.value??{},s=n??(E.value?"no authentication":"unknown");return t`
    <button type="button" class="quiet" aria-label=${`Identity: ${s}`} onClick=${()=>o(!0)} title=${`Roles: ${r.join(", ")||"none"}`}>
      <span class="wide-only">Identity: </span>${s}
    </button>
    ${e&&t`<${Qe} title="Identity" onClose=${()=>o(!1)}><${Ze} /><//>`}
  `}function Je(){return t`
    <section class="sign-in" aria-label="Sign in">
      <h1>Sign in</h1>
      <p class="note">This server answers those who send a token. <a href="docs/how-to/authentication/">Where tokens come from</a></p>
      <${Ze} />
    </section>
  `}function Ze(){let{principal:e,roles:o=[],expires:n}=E.value??{};return t`
    <form class="stack" onSubmit=${s=>{s.preventDefault();let a=new FormData(s.target).get("token");B(typeof a=="string"?a.trim():"")}}>
      ${E.value&&t`<dl class="facts">
        <dt>Principal</dt>
        <dd>${e??"none: this server does not authenticate"}</dd>
        <dt>Roles</dt>
        <dd>${o.join(", ")||"none"}</dd>
        <dt>Expires</dt>
        <dd>${n??"never"}</dd>
      </dl>`}
      ${O.value&&j.value&&t`<p class="error" role="alert">The server refused a request: ${O.value.message}</p>`}
      <label class="search">Bearer token <input name="token" type="password" autocomplete="off" required autofocus /></label>
      <p class="note">It stays in this tab until the tab is closed.</p>
      <div class="row">
        <button type="submit">Use this token</button>
        ${j.value&&t`<button type="button" class="quiet" onClick=${()=>B("")}>Forget the token</button>`}
      </div>
    </form>
  `}function ze(){let e=V.value;if(e===void 0)return null;let o=()=>{V.value=void 0,c()};return t`<p class="looking-as" role="status">
    Ask shows what roles ${e.roles.join(", ")||"none"} with claims <code>${JSON.stringify(e.claims)}</code> see.
    <button type="button" class="quiet" onClick=${o}>Look as yourself</button>
  </p>`}var Xe={ask:{title:"Ask",load:()=>J},entity:{title:"Entity",load:async()=>(await import("./part-ONVAZDHE.js")).EntityPage,isUnlisted:!0},schema:{title:"Schema",load:async()=>(await import("./part-NROTQ4NS.js")).Schema},change:{title:"Change",load:async()=>(await import("./part-BSA7GBT7.js")).Change},whom:{title:"As whom",load:async()=>(await import("./part-3GLVZ6PJ.js")).Whom,forAdmins:!0},health:{title:"Health",load:async()=>(await import("./part-UVJR3OWP.js")).Health}};function et(){f(()=>{re().catch(()=>{})},[]);let e=ie.value.page,o=Object.entries(Xe).filter(([,n])=>!n.isUnlisted&&(!n.forAdmins||se()));return t`
    <a class="skip" href="#content" onClick=${Rt}>Skip to the content</a>
    <header class="bar">
      <a class="logo" href="#/ask">adalog</a>
      <nav aria-label="Pages">
        ${o.map(([n,{title:r}])=>t`<a key=${n} href=${`#/${n}`} aria-current=${n===e?"page":void 0}>${r}</a>`)}
      </nav>
      <div class="bar-end">
        <a href="graphql">GraphiQL</a>
        <a href="docs/">Docs</a>
        <button type="button" class="quiet" aria-label=${`Theme: ${K.value}`} onClick=${Te} title="Switch between the system's, light and dark colours">
          <span class="wide-only">Theme: </span>${K.value}
        </button>
        <${Ye} />
      </div>
    </header>
    <div class="body">
      <main id="content" tabindex="-1"><${ze} />${qt()?t`<${Je} />`:t`<${Et} name=${e} />`}</main>
      <${ve} />
    </div>
  `}function Rt(e){e.preventDefault(),document.getElementById("content")?.focus()}function qt(){return O.value?.code==="UNAUTHENTICATED"&&g.value===void 0}function Et({name:e}){let o=Xe[e],[n,r]=b(e==="ask"?{name:e,component:J}:void 0),[s,a]=b();return f(()=>{a(void 0),Promise.resolve(o?.load()).then(i=>i&&r({name:e,component:i}),i=>a(`This page cannot be loaded: ${String(i)}. Load the console again.`))},[e]),f(()=>{document.title=o?`${o.title} \xB7 adalog`:"adalog"},[e]),o===void 0?t`<p class="note">There is no page ${e} in the console. <a href="#/ask">Ask</a> is the first one.</p>`:s?t`<p class="error" role="alert">${s}</p>`:n?.name===e?t`<${n.component} />`:t`<p class="note" role="status">Loading…</p>`}var Z=document.getElementById("console");Z&&(Z.replaceChildren(),z(t`<${et} />`,Z));
