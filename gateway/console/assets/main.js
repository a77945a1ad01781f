import{a as E,b as P,c as j}from"./part-LBHH7DKY.js";import{d as L,f as I,g as f,i as b,j as R,k as D,l as h,m as q,n as F,p as i,q as H}from"./part-MQFRQ6IZ.js";import"./part-XVTX2I6E.js";import{a as M}from"./part-7EERDUOI.js";import{a as c,c as l,d as T,f as x,h as A,j as S,k as d,m as g,p as B,q as p,r as O,t as N}from"./part-2S7PIYIZ.js";import{a as t}from"./part-AB74YKQT.js";import{f as C}from"./part-XLI5J4VL.js";function Q(){let e=F.value;if(e.length===0)return null;let o=n=>a=>{let s=a.target.value;f.value=e.map((m,w)=>w===n?s:f.value[w]??"")};return t`
    <form class="arguments" aria-label="Arguments" onSubmit=${n=>{n.preventDefault(),i()}}>
      ${e.map(({text:n},a)=>t`<label key=${a}><code>${n}</code> <input name=${`argument-${a}`} value=${f.value[a]??""} onInput=${o(a)} placeholder="EDN" /></label>`)}
      <button type="submit" class="hidden">Run with these arguments</button>
    </form>
  `}function U(){let e=R.value;return t`
    <section class="results" aria-label="Answer" aria-busy=${h.value} data-ended=${q.value}>
      <${M} error=${D.value} />
      ${e&&t`
        <p class="note" role="status">
          ${e.rows.length.toLocaleString()} rows at t ${e.basisT} in ${e.stats.elapsedMs.toFixed(1)} ms, ${e.stats.engine.toLowerCase()},
          cache ${e.stats.cache.toLowerCase()}
        </p>
        <${j} label="Answer" columns=${e.columns} rows=${e.rows} />
      `}
    </section>
  `}var V=async()=>(await import("./part-FRFX54JV.js")).assistance;function v(){return t`
    <section class="ask" aria-label="Query">
      <${E} label="Query" text=${I} onRun=${i} extensions=${V} />
      <${Q} />
      <div class="row">
        <button type="button" onClick=${()=>{i()}} title="Ctrl-Enter">Run</button>
        ${h.value&&t`<button type="button" class="quiet" onClick=${H}>Cancel</button>`}
      </div>
    </section>
    <${U} />
  `}function G({title:e,onClose:o,children:r}){let n=T(null);return l(()=>n.current?.showModal(),[]),t`
    <dialog ref=${n} onClose=${o} aria-label=${e}>
      <header class="row">
        <h2>${e}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick=${()=>n.current?.close()}>✕</button>
      </header>
      ${r}
    </dialog>
  `}function z(){let[e,o]=c(!1),{principal:r,roles:n=[]}=p.value??{},a=r??(p.value?"no authentication":"unknown");return t`
    <button type="button" class="quiet" onClick=${()=>o(!0)} title=${`Roles: ${n.join(", ")||"none"}`}>
      Identity: ${a}
    </button>
    ${e&&t`<${G} title="Identity" onClose=${()=>o(!1)}><${y} /><//>`}
  `}function y(){let{principal:e,roles:o=[],expires:r}=p.value??{};return t`
    <form class="stack" onSubmit=${a=>{a.preventDefault();let s=new FormData(a.target).get("token");g(typeof s=="string"?s.trim():"")}}>
      ${p.value&&t`<dl class="facts">
        <dt>Principal</dt>
        <dd>${e??"none: this server does not authenticate"}</dd>
        <dt>Roles</dt>
        <dd>${o.join(", ")||"none"}</dd>
        <dt>Expires</dt>
        <dd>${r??"never"}</dd>
      </dl>`}
      ${d.value&&t`<p class="error" role="alert">The server refused a request: ${d.value.message}</p>`}
      <label>Bearer token <input name="token" type="password" autocomplete="off" required /></label>
      <p class="note">It is kept in this tab until the tab is closed, and sent in the Authorization header.</p>
      <div class="row">
        <button type="submit">Use this token</button>
        ${S.value&&t`<button type="button" onClick=${()=>g("")}>Forget the token</button>`}
      </div>
    </form>
  `}function J(){let e=b.value;if(e===void 0)return null;let o=()=>{b.value=void 0,i()};return t`<p class="looking-as" role="status">
    Ask shows what roles ${e.roles.join(", ")||"none"} with claims <code>${JSON.stringify(e.claims)}</code> see.
    <button type="button" class="quiet" onClick=${o}>Look as yourself</button>
  </p>`}var K="adalog:theme",$=["system","light","dark"],u=x($.find(e=>e===localStorage.getItem(K))??"system");A(()=>{document.documentElement.dataset.theme=u.value,localStorage.setItem(K,u.value)});function W(){u.value=$[($.indexOf(u.value)+1)%$.length]??"system"}var Y={ask:{title:"Ask",load:()=>v},schema:{title:"Schema",load:async()=>(await import("./part-RGS4V5G5.js")).Schema},change:{title:"Change",load:async()=>(await import("./part-VDV7R7L6.js")).Change},whom:{title:"As whom",load:async()=>(await import("./part-UNPYW57M.js")).Whom,forAdmins:!0},health:{title:"Health",load:async()=>(await import("./part-QEBCLZTY.js")).Health}};function _(){l(()=>{O().catch(()=>{})},[]);let e=L.value.page,o=Object.entries(Y).filter(([,r])=>!r.forAdmins||N());return t`
    <a class="skip" href="#content" onClick=${X}>Skip to the content</a>
    <header class="bar">
      <a class="logo" href="#/ask">adalog</a>
      <nav aria-label="Pages">
        ${o.map(([r,{title:n}])=>t`<a key=${r} href=${`#/${r}`} aria-current=${r===e?"page":void 0}>${n}</a>`)}
      </nav>
      <div class="bar-end">
        <a href="graphql">GraphiQL</a>
        <a href="docs/">Docs</a>
        <button type="button" class="quiet" onClick=${W} title="Switch between the system's, light and dark colours">
          Theme: ${u.value}
        </button>
        <${z} />
      </div>
    </header>
    <div class="body">
      <main id="content" tabindex="-1"><${J} />${Z()?t`<${y} />`:t`<${ee} name=${e} />`}</main>
      <${P} />
    </div>
  `}function X(e){e.preventDefault(),document.getElementById("content")?.focus()}function Z(){return d.value?.code==="UNAUTHENTICATED"&&B.value===void 0}function ee({name:e}){let o=Y[e],[r,n]=c(e==="ask"?{name:e,component:v}:void 0),[a,s]=c();return l(()=>{s(void 0),Promise.resolve(o?.load()).then(m=>m&&n({name:e,component:m}),m=>s(`This page cannot be loaded: ${String(m)}. Load the console again.`))},[e]),l(()=>{document.title=o?`${o.title} \xB7 adalog`:"adalog"},[e]),o===void 0?t`<p class="note">There is no page ${e} in the console. <a href="#/ask">Ask</a> is the first one.</p>`:a?t`<p class="error" role="alert">${a}</p>`:r?.name===e?t`<${r.component} />`:t`<p class="note" role="status">Loading…</p>`}var k=document.getElementById("console");k&&(k.replaceChildren(),C(t`<${_} />`,k));
