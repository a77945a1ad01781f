import{a as A,b as P}from"./part-3X3ITKVB.js";import"./part-IL6DCZRB.js";import"./part-OQ547FIK.js";import"./part-OIAL7UBB.js";import"./part-2KF6VXRP.js";import"./part-6SV666EK.js";import"./part-NEIUQMN6.js";import{l as N,u as S}from"./part-LLVG6Z7P.js";import"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{c as J}from"./part-56TO7VDT.js";import{a as f}from"./part-PQQ22TZ7.js";import{a as i}from"./part-H5APD4YT.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import{b as $}from"./part-7PNDONP5.js";import"./part-MYFEB7IN.js";import{d as R,f as x}from"./part-TSUFEJYE.js";import"./part-R45ROGHT.js";import"./part-VTCKWQW5.js";import{d as m,f as E,m as h,o as I}from"./part-RZWRK72K.js";function v(e,t){let o=h(D(e,t));return I(()=>{let r=JSON.stringify(o.value);try{localStorage.setItem(e,r)}catch{}}),o}function D(e,t){try{let o=localStorage.getItem(e);return o===null?t:JSON.parse(o)}catch{return t}}var l=v("adalog:identities",[]);function V(){let[e,t]=m(""),o=n=>{n.preventDefault();let s=n.target,a=L(new FormData(s));if(typeof a=="string"){t(a);return}t(""),l.value=[...l.value.filter(({name:u})=>u!==a.name),a],s.reset()},r=n=>{l.value=l.value.filter(s=>s!==n)};return i`
    <section aria-label="Identities">
      <h2>Identities</h2>
      <p class="note">An identity is the roles and claims of a token. They are kept in this browser.</p>
      ${l.value.length>0&&i`<ul class="identities">
        ${l.value.map(n=>i`<li key=${n.name}>
            <strong>${n.name}</strong>
            <span>${n.roles.map(s=>i`<span class="chip" key=${s}>${s}</span> `)}</span>
            <code>${JSON.stringify(n.claims)}</code>
            <button type="button" onClick=${()=>M(n)}>Look as ${n.name}</button>
            <button type="button" class="quiet" aria-label=${`Remove ${n.name}`} onClick=${()=>r(n)}>✕</button>
          </li>`)}
      </ul>`}
      <form class="row identity-form" onSubmit=${o}>
        <label>Name <input name="name" required placeholder="ada" /></label>
        <label>Roles <input name="roles" placeholder="member, guest" /></label>
        <label>Claims <input name="claims" placeholder=${'{"sub": "ada"}'} class="code" /></label>
        <button type="submit">Add</button>
      </form>
      ${e&&i`<p class="error" role="alert">${e}</p>`}
    </section>
  `}function M({claims:e,roles:t}){N.value={claims:e,roles:t},J("ask")}function L(e){let t=n=>String(e.get(n)??"").trim(),o=t("roles").split(/[\s,]+/).filter(Boolean),r;try{r=JSON.parse(t("claims")||"{}")}catch{return'Claims are a JSON object, such as {"sub": "ada"}'}return typeof r!="object"||r===null||Array.isArray(r)?'Claims are a JSON object, such as {"sub": "ada"}':{name:t("name"),roles:o,claims:r}}var H="[:find (pull ?p [*]) :where [?p :policy/name _]]";function C(){let[e,t]=m(),[o,r]=m();return E(()=>{(async()=>(await $({query:H,argsEdn:[]})).rows.map(([s])=>s))().then(t,r)},[]),o?i`<${f} error=${o} />`:i`
    <section aria-label="Policies">
      <h2>Policies</h2>
      ${e?.length===0&&i`<p class="note">There is no policy: every client that may read sees everything. <a href="docs/how-to/permissions/">How to write policies</a>.</p>`}
      ${e?.map(n=>i`<details class="policy" key=${n[":policy/name"]}>
          <summary>
            <strong>${n[":policy/name"]}</strong>
            ${n[":policy/effect"]===":require"&&i`<span class="chip">requires</span>`}
            <span class="note">${k(n[":policy/ops"])} ${k(n[":policy/on"])} for ${k(n[":policy/roles"])}</span>
          </summary>
          <p class="note">Of the saved identities it is for: ${l.value.filter(s=>B(n,s)).map(({name:s})=>s).join(", ")||"none"}.</p>
          ${n[":policy/rules"]?i`<pre tabindex="0" aria-label="Rules">${n[":policy/rules"]}</pre>`:i`<p class="note">It has no rules, and is for all entities.</p>`}
        </details>`)}
    </section>
  `}function B(e,{roles:t}){let o=(e[":policy/roles"]??[]).map(r=>r.replace(/^:/,""));return o.includes("*")||t.some(r=>o.includes(r.replace(/^:/,"")))}function k(e=[]){return e.map(t=>t.replace(/^:/,"")).join(", ")||"nothing"}var O=h(`[{:policy/name "everybody reads names"
  :policy/roles [:*]
  :policy/ops [:read]
  :policy/on [:user/name]}]`),y=v("adalog:policy-queries",[]);function j(){let[e,t]=m(),[o,r]=m(),[n,s]=m(""),[a,u]=m(!1),d=async c=>{u(!0),s("");try{await c(),r(void 0)}catch(p){r(p)}finally{u(!1)}},b=()=>d(async()=>{let c=[];for(let p of l.value)for(let w of y.value)c.push(await W(p,w,O.value));t(c),s(z(c))}),g=()=>d(async()=>{let{t:c}=await R.transact(O.value);t(void 0),s(`Committed as transaction ${c}.`)}),q={query:S.value.query,argsEdn:S.value.argsEdn},T=y.value.some(c=>Y(c,q));return i`
    <section aria-label="Try a change" aria-busy=${a}>
      <h2>Try a change of policies</h2>
      <${A} label="Change of policies" text=${O} onRun=${()=>{b()}} />
      <h3>Queries to compare</h3>
      ${y.value.length===0&&i`<p class="note">None yet. Ask one, then add it here.</p>`}
      <ul class="queries">
        ${y.value.map((c,p)=>i`<li key=${p}>
            <pre tabindex="0" aria-label="Query">${c.query}${c.argsEdn.length>0?`
; ${c.argsEdn.join(" ")}`:""}</pre>
            <button type="button" class="quiet" aria-label="Remove the query" onClick=${()=>y.value=y.value.filter(w=>w!==c)}>✕</button>
          </li>`)}
      </ul>
      <div class="row">
        <button type="button" class="quiet" disabled=${T} onClick=${()=>y.value=[...y.value,q]}>Add the query of Ask</button>
        <button type="button" disabled=${a||l.value.length===0||y.value.length===0} onClick=${()=>{b()}}>Try</button>
        <button type="button" class="quiet" disabled=${a||e===void 0} onClick=${()=>{g()}}>Commit</button>
      </div>
      <${f} error=${o} />
      <p role="status">${n}</p>
      ${e?.map((c,p)=>i`<${U} key=${p} outcome=${c} />`)}
    </section>
  `}function U({outcome:{identity:e,query:t,after:o,gained:r,lost:n}}){let s=[...r,...n],a=new Map([...r.map(u=>[u,"added"]),...n.map(u=>[u,"retracted"])]);return i`
    <details class="policy" open=${s.length>0&&s.length<=20}>
      <summary><strong>${e.name}</strong> gains ${r.length} and loses ${n.length} of <code>${_(t.query)}</code></summary>
      ${s.length>0&&i`<div class="trial-rows"><${P} label=${`Rows that ${e.name} gains and loses`} columns=${o.columns} rows=${s} marks=${a} /></div>`}
    </details>
  `}async function W(e,t,o){let r={claims:e.claims,roles:e.roles},[n,s]=await Promise.all([$({...t,as:r}),$({...t,as:r,with:o})]),a=new Set(n.rows.map(d=>JSON.stringify(d))),u=new Set(s.rows.map(d=>JSON.stringify(d)));return{identity:e,query:t,after:s,gained:s.rows.filter(d=>!a.has(JSON.stringify(d))),lost:n.rows.filter(d=>!u.has(JSON.stringify(d)))}}function z(e){let t=e.filter(({gained:o,lost:r})=>o.length+r.length>0);return t.length===0?"No identity gains or loses a row of these queries.":`${new Set(t.map(({identity:o})=>o.name)).size} of ${l.value.length} identities gain or lose rows.`}function Y(e,t){return JSON.stringify(e)===JSON.stringify(t)}function _(e){let t=e.replace(/\s+/g," ");return t.length>80?`${t.slice(0,79)}\u2026`:t}var G="query ($entity: EDN!, $as: AsInput!) { whyVisible(entity: $entity, as: $as) }";function F(){let[e,t]=m(),[o,r]=m();return i`
    <section aria-label="Visibility of an entity">
      <h2>What one sees of an entity, and why</h2>
      <form class="row" onSubmit=${async s=>{s.preventDefault();let a=new FormData(s.target),u=l.value.find(({name:g})=>g===a.get("identity"));if(u===void 0)return;let{claims:d,roles:b}=u;try{t((await x(G,{entity:a.get("entity"),as:{claims:d,roles:b}})).whyVisible),r(void 0)}catch(g){r(g)}}}>
        <label>Entity <input name="entity" required class="code" placeholder=${'[:user/email "ada@example.org"]'} /></label>
        <label>Identity <select name="identity" required>${l.value.map(({name:s})=>i`<option key=${s}>${s}</option>`)}</select></label>
        <button type="submit" disabled=${l.value.length===0}>Look</button>
      </form>
      ${l.value.length===0&&i`<p class="note">Add an identity first.</p>`}
      <${f} error=${o} />
      ${e&&i`<div role="status"><${K} reasons=${e} /></div>`}
    </section>
  `}function K({reasons:{everything:e,visible:t=[],hidden:o=[],policies:r=[]}}){return e!==void 0?i`<p>Everything is visible: ${e}.</p>`:i`
    <dl class="facts">
      <dt>Visible</dt>
      <dd>${t.join(", ")||"nothing"}</dd>
      <dt>Hidden</dt>
      <dd>${o.join(", ")||"nothing"}</dd>
    </dl>
    ${r.map(({policy:n,effect:s,attributes:a,holds:u,...d})=>i`<details class="policy" key=${n}>
        <summary><strong>${n}</strong> <span class=${u?"good":"bad"}>${X(s,u)}</span> <span class="note">${a.join(", ")}</span></summary>
        <${Q} value=${d} />
      </details>`)}
  `}function X(e,t){return e==="require"?t?"is met":"is not met":t?"grants":"does not grant"}function Q({value:e}){if(e==null)return null;if(typeof e!="object")return i`<code>${String(e)}</code>`;let t=Array.isArray(e)?e.map((o,r)=>[String(r+1),o]):Object.entries(e).filter(([,o])=>o!==null);return i`<ul class="reasons">
    ${t.map(([o,r])=>i`<li key=${o}><span class="note">${o}</span> <${Q} value=${r} /></li>`)}
  </ul>`}function je(){return i`
    <div class="whom">
      <h1>As whom</h1>
      <${V} />
      <${C} />
      <${F} />
      <${j} />
    </div>
  `}export{je as Whom};
