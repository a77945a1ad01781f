import{a as W,b as ke}from"./part-WTMTGXZX.js";import"./part-36FY6HEJ.js";import{a as S,c as Te,d as Ae,f as Se,g as xe,i as Oe}from"./part-ZZAXTW5G.js";import{b as ge}from"./part-UOCLQJPR.js";import"./part-OQ547FIK.js";import{b as be}from"./part-7Z23DIP2.js";import{a as we}from"./part-FJ6BZCQO.js";import{a as K,b as Ce}from"./part-DCZC7I4U.js";import{a as $e,b as he}from"./part-T3OXAMIR.js";import{a as u}from"./part-WHDYPCOL.js";import{a as h,c as ve}from"./part-W7ENMOLN.js";import{b as ye}from"./part-WJTV5FF2.js";import{A as de,B as N,C as pe,a as H,b as d,c as oe,f as P,g as U,h as R,k as w,l as k,m as I,n as V,o as $,p as G,q as M,r as ae,t as _,u as le,v as ue,x as me,y as c,z as ce}from"./part-XYIPF42E.js";import"./part-RNKBWTX5.js";import"./part-HJLQ2EQ6.js";import{a as fe}from"./part-6ELFALKW.js";import{a as t}from"./part-HKU5J7XE.js";import"./part-LZE73SPE.js";import"./part-MI5OYWOP.js";import{a as ie}from"./part-V6THWY33.js";import"./part-XWLH3WJ2.js";import{a as q,b as g,c as E,d as re,f as se}from"./part-RZZ3LF33.js";import{b as j,c as O,e as B}from"./part-UCX77QUB.js";import"./part-R45ROGHT.js";import"./part-VTCKWQW5.js";import{b as z,d as b,f as y,g as X,h as ee,l as te,m as v,o as ne}from"./part-C5S63P6X.js";var F=v(void 0);ne(()=>{I.value!==void 0&&d.peek()!=="changes"&&(d.value="asOf")});function Re(e){let n=d.value;if(e===n)return;d.value=e;let o=n==="newest"||n==="asOf",r=I.peek()!==void 0;(e==="newest"||e==="live")&&(I.value=void 0);let s=e==="newest"?r||!o:e==="asOf"&&!o;te(()=>{s&&$.value?c():N()})}var nt=[["newest","Newest","The newest state of the database"],["asOf","As of\u2026","The answer at an earlier moment"],["changes","Changes\u2026","What differs between two moments"],["live","Live","The answer as a stream: rows come and go"]],ot={asOf:u(async()=>(await import("./part-MMLMAMWG.js")).AsOf),changes:u(async()=>(await import("./part-7LCWYBLC.js")).Changes),live:u(async()=>(await import("./part-2PFFKFD4.js")).LiveControls)};function qe(){return t`
    <div class="row segments" role="group" aria-label="Moment of the answer">
      ${nt.map(([e,n,o])=>t`<button type="button" key=${e} class="quiet" title=${o} aria-pressed=${d.value===e} onClick=${()=>Re(e)}>${n}</button>`)}
    </div>
  `}function Ee(){let e=d.value;return e==="newest"?null:t`<section class="moment" aria-label="Moment"><${ot[e]} key=${e} /></section>`}function Me({field:e,text:n,onChange:o,problem:r}){let{kind:s,places:a}=e,i=rt(e,n);if(i===void 0)return t`<input class="mono" aria-label=${e.text} aria-describedby=${r} value=${n} placeholder="EDN" onInput=${p=>o(p.target.value)} />`;let m=p=>o(st(e,p)),C=(p,l)=>f=>m(i.map((A,L)=>L===p?A.map((et,tt)=>tt===l?f:et):A)),T=s!=="tuple";return t`
    <table class="argument-rows">
      ${s!=="list"&&t`<thead><tr>${a.map(({name:p,type:l})=>t`<th scope="col" title=${l??""}>${p}</th>`)}${T&&t`<td></td>`}</tr></thead>`}
      <tbody>
        ${i.map((p,l)=>t`<tr key=${l}>
            ${a.map(({name:f,type:A},L)=>t`<td><${S} label=${T?`${f}, row ${l+1}`:f} type=${A} text=${p[L]??""} onChange=${C(l,L)} problem=${r} /></td>`)}
            ${T&&t`<td><button type="button" class="quiet small" aria-label=${`Remove row ${l+1}`} disabled=${i.length===1} onClick=${()=>m(i.filter((f,A)=>A!==l))}>✕</button></td>`}
          </tr>`)}
      </tbody>
    </table>
    ${T&&t`<button type="button" class="quiet small" onClick=${()=>m([...i,a.map(()=>P)])}>Add ${s==="list"?"a value":"a row"}</button>`}
  `}function rt({kind:e,places:n},o){let r=n.map(()=>P);if(o.trim()==="")return[r];let s=U(o);if(s===void 0)return;if(e==="tuple")return s.length<=n.length?[[...s,...r].slice(0,n.length)]:void 0;if(e==="list")return s.length===0?[r]:s.map(i=>[i]);let a=s.map(U);if(a.every(i=>i?.length===n.length))return a.length===0?[r]:a}function st({kind:e},n){return n.every(o=>o.every(r=>r.trim()===""||r===P))&&n.length===1?"":e==="tuple"?R(n[0]??[]):e==="list"?R(n.map(o=>o[0]??"")):R(n.map(R))}function Fe({text:e,onChange:n,onRun:o}){let r=ee(()=>v(e),[]);return y(()=>{r.value=e},[e]),y(()=>r.subscribe(s=>n(s)),[n]),t`<div class="argument-rules"><${W} label="Rules" text=${r} onRun=${o} /></div>`}var Le={asOfT:{title:"as of transaction",key:":as-of",type:"long"},asOf:{title:"as of instant (UTC)",key:":as-of",type:"instant"},sinceT:{title:"since transaction",key:":since",type:"long"},since:{title:"since instant (UTC)",key:":since",type:"instant"},history:{title:"all of history",key:":history",type:"true"},tuples:{title:"a list of tuples",key:"",type:void 0}};function it(e){if(e.trim()==="")return{way:"asOfT",value:""};let[,n,o=""]=/^\{:basis \{(:as-of|:since|:history) ?(.*)\}\}$/.exec(e)??[];if(n===void 0)return;if(n===":history")return{way:"history",value:"true"};let r=o.startsWith("#inst");return{way:n===":as-of"?r?"asOf":"asOfT":r?"since":"sinceT",value:o}}function We({field:e,text:n,onChange:o,problem:r}){let s=it(n),[a,i]=b(s?.way??"tuples"),m=n===""?a:s?.way??"tuples",C=Le[m],T=l=>o(l===""?"":C?.key?`{:basis {${C.key} ${l}}}`:l),p=l=>{let f=l.target.value;i(f),o(f==="history"?"{:basis {:history true}}":"")};return t`<span class="lookup">
    <select aria-label=${`${e.text}: which database`} value=${m} onChange=${p}>
      ${Object.entries(Le).map(([l,{title:f}])=>t`<option key=${l} value=${l}>${f}</option>`)}
    </select>
    ${m!=="history"&&t`<${S} label=${e.text} type=${C?.type} text=${C?.key?s?.value??"":n} onChange=${T} problem=${r} />`}
  </span>`}var at=[];function Pe(e){return at[e]??=n=>{(k.peek()[e]??"")!==n&&(k.value=_.peek().map((o,r)=>r===e?n:k.peek()[r]??""))}}function Ie(){let e=_.value;return e.length===0?null:t`
    <form class="arguments" aria-label="Arguments" onSubmit=${o=>{o.preventDefault(),c()}} noValidate>
      ${e.map((o,r)=>t`<${lt} key=${`${r} ${o.kind} ${o.text}`} field=${o} i=${r} />`)}
      <button type="submit" class="hidden">Run with these arguments</button>
    </form>
  `}function lt({field:e,i:n}){let o=k.value[n]??"",r=ue.value?le.value[n]:void 0,s=`argument-problem-${n}`,a=r?s:void 0,[i]=e.places,m={field:e,text:o,onChange:Pe(n),problem:a,onRun:()=>{c()}};return t`
    <fieldset class=${`argument argument-${e.kind}`}>
      <legend><code>${e.text}</code>${e.places.length===1&&i?.type?t` <span class="note">${i.type==="instant"?"instant, UTC":i.type}</span>`:null}</legend>
      ${e.kind==="scalar"?t`<${S} label=${e.text} type=${i?.type} text=${o} onChange=${Pe(n)} problem=${a} name=${`argument-${n}`} />`:e.kind==="rules"?t`<${Fe} ...${m} />`:e.kind==="source"?t`<${We} ...${m} />`:t`<${Me} ...${m} />`}
      ${r&&t`<p class="argument-problem" id=${s}>${r}</p>`}
    </fieldset>
  `}var ut=u(async()=>(await import("./part-TA2C4EQG.js")).Why),mt=u(async()=>(await import("./part-G556WUOA.js")).WhyNot);function Ne(e,n){h("Why this row",ut,{answer:e,row:n})}function De(e){h("Why not\u2026",mt,{answer:e})}var ct=u(async()=>(await import("./part-V25MGPAK.js")).RowHistory),He=[{label:"Why",short:"?",run:e=>$.value&&Ne($.value,e)},{label:"History",short:"\u21BA",run:e=>$.value&&h("History of this row",ct,{answer:$.value,row:e})}];function je({answer:e}){let{columns:n,rows:o,warnings:r}=e;return o.length>0?t`<${ke} label="Answer" columns=${n} rows=${o} marks=${ye(e)} actions=${He} />`:d.value==="changes"?t`<p class="empty"><strong>Nothing differs.</strong> The two moments have the same rows.</p>`:t`
    <div class="empty">
      <p><strong>No rows.</strong> The query ran, and nothing that you may read fits all of its clauses.</p>
      <p>
        ${r.length>0?"The warnings above may say why. ":""}Leave clauses out one by one, or ask for less in each, to see which of them lets nothing pass.
      </p>
    </div>
  `}var dt=[{name:"table",title:"Table",isOffered:()=>!0,component:je},{name:"chart",title:"Chart",isOffered:ge,component:u(async()=>(await import("./part-YHPC6QSX.js")).Chart)},{name:"graph",title:"Graph",isOffered:we,component:u(async()=>(await import("./part-MNO5SBJG.js")).Graph)},{name:"plan",title:"Plan",isOffered:()=>!0,component:u(async()=>(await import("./part-XC4C3VA5.js")).Plan)}];function Be(e){return dt.filter(({isOffered:n})=>n(e))}var Q=24,pt=3;function Ue(){return t`
    <div class="welcome">
      <${ft} />
      <${yt} />
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
  `}function ft(){if(g.value===void 0)return null;let e=Te(q.value),n=o=>{w.value=Oe(Se(o,q.value),q.value),k.value=[],c()};return t`
    <section>
      <h2>Look at</h2>
      <p class="note">${Number(g.value.datomCount).toLocaleString()} datoms of ${Number(g.value.entityCount).toLocaleString()} entities, at t ${g.value.basisT}</p>
      ${e.length===0?t`<p>There is no attribute of your own yet. <a href="#/schema?view=declare">Declare one</a>, or <a href="#/change">write a transaction</a>.</p>`:t`<ul class="types">
            ${e.slice(0,Q).map(o=>{let r=xe(Ae(o,q.value))?.datomCount;return t`<li key=${o}>
                <button type="button" class="quiet" onClick=${()=>n(o)}>${o}${r!==void 0&&t` <span class="quiet-text">${Number(r).toLocaleString()}</span>`}</button>
              </li>`})}
          </ul>`}
      ${e.length>Q&&t`<p class="note">and ${e.length-Q} more in <a href="#/schema">Schema</a></p>`}
    </section>
  `}function yt(){let e=oe.value.slice(0,pt);return e.length===0?null:t`
    <section>
      <h2>Asked lately</h2>
      <ul class="history">
        ${e.map((n,o)=>t`<li key=${o}><button type="button" class="quiet history-entry" onClick=${()=>de(n)}><code>${n.query}</code></button></li>`)}
      </ul>
    </section>
  `}var $t=u(async()=>(await import("./part-HNJSQVMK.js")).SaveMenu);function Ge(){let e=$.value;return t`
    <section class="results" aria-label="Answer" aria-busy=${M.value} data-ended=${ae.value}>
      <${ht} />
      ${e?t`<${bt} answer=${e} />`:!G.value&&(M.value?t`<p class="empty asking" role="status">Asking…</p>`:t`<${Ue} />`)}
    </section>
  `}function ht(){let e=G.value;if(!e)return null;let{line:n,column:o}=e;return t`<div>
    <${fe} error=${e} />
    ${n!==void 0&&o!==void 0&&!e.origin&&t`<button type="button" class="quiet small" onClick=${()=>F.value={line:n,column:o}}>Go to line ${n}</button>`}
  </div>`}function bt({answer:e}){let n=Be(e),o=n.find(({name:r})=>r===H.value)??n[0];return t`
    <${$e.Provider} value=${he(e)}>
      <div class="results-head">
        ${n.length>1&&t`<${gt} views=${n} current=${o?.name} />`}
        <div class="note row">
          ${me.value&&t`<span class="edited">The query was edited since.</span>`}
          ${d.value!=="live"&&t`<span role="status">${vt(e)}</span>`}
          <button type="button" class="quiet small" onClick=${()=>De(e)}>Why not…</button>
          ${e.columns.some(({type:r})=>r==="instant")&&t`<${be} />`}
          ${e.rows.length>0&&t`<${$t} answer=${e} />`}
        </div>
      </div>
      <${wt} warnings=${e.warnings} />
      <div class="view" id="view" role=${n.length>1?"tabpanel":void 0} aria-label=${n.length>1?o?.title:void 0}>
        ${o&&t`<${o.component} key=${o.name} answer=${e} />`}
      </div>
    <//>
  `}function vt({rows:e,basisT:n,stats:o}){let{elapsedMs:r,engine:s,cache:a}=o;return`${`${e.length.toLocaleString()} ${e.length===1?"row":"rows"}`} at t ${n} in ${r.toFixed(1)} ms, ${s.toLowerCase()}, cache ${a.toLowerCase()}`}function Ve(e){H.value=e,N()}function gt({views:e,current:n}){return t`
    <div class="tabs" role="tablist" aria-label="Views of the answer" onKeyDown=${r=>{let s={ArrowRight:1,ArrowLeft:-1}[r.key],a=e.findIndex(({name:m})=>m===n),i=s===void 0?void 0:e.at((a+s)%e.length);i&&(r.preventDefault(),Ve(i.name),r.currentTarget.querySelector(`[data-view="${i.name}"]`)?.focus())}}>
      ${e.map(({name:r,title:s})=>t`
          <button
            type="button"
            role="tab"
            key=${r}
            class="quiet"
            data-view=${r}
            aria-selected=${r===n}
            aria-controls="view"
            tabindex=${r===n?0:-1}
            onClick=${()=>Ve(r)}
          >
            ${s}
          </button>
        `)}
    </div>
  `}function wt({warnings:e}){return e.length===0?null:t`<ul class="warnings" aria-label="Warnings">
    ${e.map(({code:n,message:o,line:r,column:s},a)=>t`
        <li key=${a}>
          <strong>${n}</strong> ${o}
          ${r!==null&&t` <button type="button" class="quiet small" onClick=${()=>F.value={line:r,column:s??1}}>line ${r}, column ${s??1}</button>`}
        </li>
      `)}
  </ul>`}var D=v("");function Y(e){D.value=e,window.setTimeout(()=>{D.value===e&&(D.value="")},4e3)}async function kt(){let{formatted:e}=await import("./part-HUI7MBC7.js"),n=e(w.value);n===void 0?Y("The brackets or quotes of the query do not match."):w.value=n}async function Ct(){try{await navigator.clipboard.writeText(pe()),Y("The link is copied: query, arguments, moment and view are in it.")}catch{Y("This browser does not let the page copy; the address of the page is the link once the query has run.")}}var x=v(void 0);async function Tt(){x.value=x.value?void 0:(await import("./part-AVIBXWIQ.js")).Builder}async function At(){let{History:e}=await import("./part-ZUBO6EFQ.js");h("History",e,{})}async function St(){let{SavedQueries:e}=await import("./part-TEWVDXP4.js");h("Saved queries",e,{})}function _e(){return t`
    <div class="row toolbar" role="toolbar" aria-label="Query">
      <button type="button" onClick=${()=>{c()}} title="Ctrl-Enter" aria-keyshortcuts="Control+Enter">Run</button>
      ${M.value&&t`<button type="button" class="quiet" onClick=${ce}>Cancel</button>`}
      <button type="button" class="quiet" onClick=${()=>{kt()}}>Format</button>
      <button type="button" class="quiet" aria-pressed=${x.value?"true":"false"} onClick=${()=>{Tt()}}>Builder</button>
      <button type="button" class="quiet" onClick=${()=>{Ct()}}>Copy link</button>
      <button type="button" class="quiet" onClick=${()=>{At()}}>History</button>
      <button type="button" class="quiet" onClick=${()=>{St()}}>Saved</button>
      <span class="note" role="status">${D.value}</span>
    </div>
  `}var xt=async()=>(await import("./part-G2S6IFZA.js")).assistance;function J(){return t`
    <h1 class="hidden">Ask</h1>
    <section class="ask" aria-label="Query">
      <${W} label="Query" text=${w} onRun=${c} extensions=${xt} destination=${F} />
      ${x.value&&t`<${x.value} />`}
      <${Ie} />
      <div class="row commands">
        <${_e} />
        <${qe} />
      </div>
    </section>
    <${Ee} />
    <${Ge} />
  `}function Ke({title:e,onClose:n,children:o}){let r=X(null);return y(()=>r.current?.showModal(),[]),t`
    <dialog ref=${r} onClose=${n} aria-label=${e}>
      <header class="row">
        <h2>${e}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick=${()=>r.current?.close()}>✕</button>
      </header>
      ${o}
    </dialog>
  `}function Qe(){let[e,n]=b(!1),{principal:o,roles:r=[]}=E.value??{},s=o??(E.value?"no authentication":"unknown");return t`
    <button type="button" class="quiet" aria-label=${`Identity: ${s}`} onClick=${()=>n(!0)} title=${`Roles: ${r.join(", ")||"none"}`}>
      <span class="wide-only">Identity: </span>${s}
    </button>
    ${e&&t`<${Ke} title="Identity" onClose=${()=>n(!1)}><${Je} /><//>`}
  `}function Ye(){return t`
    <section class="sign-in" aria-label="Sign in">
      <h1>Sign in</h1>
      <p class="note">This server answers those who send a token. <a href="docs/how-to/authentication/">Where tokens come from</a></p>
      <${Je} />
    </section>
  `}function Je(){let{principal:e,roles:n=[],expires:o}=E.value??{};return t`
    <form class="stack" onSubmit=${s=>{s.preventDefault();let a=new FormData(s.target).get("token");B(typeof a=="string"?a.trim():"")}}>
      ${E.value&&t`<dl class="facts">
        <dt>Principal</dt>
        <dd>${e??"none: this server does not authenticate"}</dd>
        <dt>Roles</dt>
        <dd>${n.join(", ")||"none"}</dd>
        <dt>Expires</dt>
        <dd>${o??"never"}</dd>
      </dl>`}
      ${O.value&&j.value&&t`<p class="error" role="alert">The server refused a request: ${O.value.message}</p>`}
      <label class="search">Bearer token <input name="token" type="password" autocomplete="off" required autofocus /></label>
      <p class="note">It stays in this tab until the tab is closed.</p>
      <div class="row">
        <button type="submit">Use this token</button>
        ${j.value&&t`<button type="button" class="quiet" onClick=${()=>B("")}>Forget the token</button>`}
      </div>
    </form>
  `}function Ze(){let e=V.value;if(e===void 0)return null;let n=()=>{V.value=void 0,c()};return t`<p class="looking-as" role="status">
    Ask shows what roles ${e.roles.join(", ")||"none"} with claims <code>${JSON.stringify(e.claims)}</code> see.
    <button type="button" class="quiet" onClick=${n}>Look as yourself</button>
  </p>`}var ze={ask:{title:"Ask",load:()=>J},entity:{title:"Entity",load:async()=>(await import("./part-DKOW7BKR.js")).EntityPage,isUnlisted:!0},schema:{title:"Schema",load:async()=>(await import("./part-7KMYZ2ON.js")).Schema},change:{title:"Change",load:async()=>(await import("./part-UHODQ4OT.js")).Change},whom:{title:"As whom",load:async()=>(await import("./part-E2QJWQEX.js")).Whom,forAdmins:!0},health:{title:"Health",load:async()=>(await import("./part-TR3OM3P4.js")).Health}};function Xe(){y(()=>{re().catch(()=>{})},[]);let e=ie.value.page,n=Object.entries(ze).filter(([,o])=>!o.isUnlisted&&(!o.forAdmins||se()));return t`
    <a class="skip" href="#content" onClick=${Ot}>Skip to the content</a>
    <header class="bar">
      <a class="logo" href="#/ask">adalog</a>
      <nav aria-label="Pages">
        ${n.map(([o,{title:r}])=>t`<a key=${o} href=${`#/${o}`} aria-current=${o===e?"page":void 0}>${r}</a>`)}
      </nav>
      <div class="bar-end">
        <a href="graphql">GraphiQL</a>
        <a href="docs/">Docs</a>
        <button type="button" class="quiet" aria-label=${`Theme: ${K.value}`} onClick=${Ce} title="Switch between the system's, light and dark colours">
          <span class="wide-only">Theme: </span>${K.value}
        </button>
        <${Qe} />
      </div>
    </header>
    <div class="body">
      <main id="content" tabindex="-1"><${Ze} />${Rt()?t`<${Ye} />`:t`<${qt} name=${e} />`}</main>
      <${ve} />
    </div>
  `}function Ot(e){e.preventDefault(),document.getElementById("content")?.focus()}function Rt(){return O.value?.code==="UNAUTHENTICATED"&&g.value===void 0}function qt({name:e}){let n=ze[e],[o,r]=b(e==="ask"?{name:e,component:J}:void 0),[s,a]=b();return y(()=>{a(void 0),Promise.resolve(n?.load()).then(i=>i&&r({name:e,component:i}),i=>a(`This page cannot be loaded: ${String(i)}. Load the console again.`))},[e]),y(()=>{document.title=n?`${n.title} \xB7 adalog`:"adalog"},[e]),n===void 0?t`<p class="note">There is no page ${e} in the console. <a href="#/ask">Ask</a> is the first one.</p>`:s?t`<p class="error" role="alert">${s}</p>`:o?.name===e?t`<${o.component} />`:t`<p class="note" role="status">Loading…</p>`}var Z=document.getElementById("console");Z&&(Z.replaceChildren(),z(t`<${Xe} />`,Z));
