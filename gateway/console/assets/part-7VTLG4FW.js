import{a as F,c as T,e as V}from"./part-PDJ54JGU.js";import"./part-VQHQUYEJ.js";import{a as N,b as C}from"./part-XKBPPHEZ.js";import"./part-2MNBE3S3.js";import"./part-OQ547FIK.js";import"./part-YASVWELG.js";import"./part-2KF6VXRP.js";import"./part-QHEBMXJB.js";import"./part-NEIUQMN6.js";import"./part-MFT7SZWM.js";import"./part-KUYA4U5S.js";import{n as A,w as S}from"./part-QU72OV5I.js";import"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{a as f}from"./part-PQQ22TZ7.js";import{a as r}from"./part-H5APD4YT.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import{c as P}from"./part-56TO7VDT.js";import{b as g}from"./part-FPYWINVB.js";import"./part-5H6WSBG3.js";import{d as x,f as I}from"./part-CNZ6Q6GD.js";import"./part-ZJ7BM5PU.js";import"./part-VTCKWQW5.js";import{d as m,f as q,m as h,o as E}from"./part-RZWRK72K.js";function v(e,t){let i=h(U(e,t));return E(()=>{let s=JSON.stringify(i.value);try{localStorage.setItem(e,s)}catch{}}),i}function U(e,t){try{let i=localStorage.getItem(e);return i===null?t:JSON.parse(i)}catch{return t}}var c=v("adalog:identities",[]);function J(){let[e,t]=m(""),i=o=>{o.preventDefault();let n=o.target,a=z(new FormData(n));if(typeof a=="string"){t(a);return}t(""),c.value=[...c.value.filter(({name:l})=>l!==a.name),a],n.reset()},s=o=>{c.value=c.value.filter(n=>n!==o)};return r`
    <section aria-label="Identities">
      <h2>Identities</h2>
      <p class="note">An identity is the roles and claims of a token. They are kept in this browser.</p>
      ${c.value.length>0&&r`<ul class="identities">
        ${c.value.map(o=>r`<li key=${o.name}>
            <strong>${o.name}</strong>
            <span>${o.roles.map(n=>r`<span class="chip" key=${n}>${n}</span> `)}</span>
            <code>${JSON.stringify(o.claims)}</code>
            <button type="button" onClick=${()=>W(o)}>Look as ${o.name}</button>
            <button type="button" class="quiet" aria-label=${`Remove ${o.name}`} onClick=${()=>s(o)}>✕</button>
          </li>`)}
      </ul>`}
      <form class="row identity-form" onSubmit=${i}>
        <label>Name <input name="name" required placeholder="ada" /></label>
        <label>Roles <input name="roles" placeholder="member, guest" /></label>
        <label>Claims <input name="claims" placeholder=${'{"sub": "ada"}'} class="code" /></label>
        <button type="submit">Add</button>
      </form>
      ${e&&r`<p class="error" role="alert">${e}</p>`}
    </section>
  `}function W({claims:e,roles:t}){A.value={claims:e,roles:t},P("ask")}function z(e){let t=o=>String(e.get(o)??"").trim(),i=t("roles").split(/[\s,]+/).filter(Boolean),s;try{s=JSON.parse(t("claims")||"{}")}catch{return'Claims are a JSON object, such as {"sub": "ada"}'}return typeof s!="object"||s===null||Array.isArray(s)?'Claims are a JSON object, such as {"sub": "ada"}':{name:t("name"),roles:i,claims:s}}var Y="[:find (pull ?p [*]) :where [?p :policy/name _]]";function j(){let[e,t]=m(),[i,s]=m();return q(()=>{(async()=>(await g({query:Y,argsEdn:[]})).rows.map(([n])=>n))().then(t,s)},[]),i?r`<${f} error=${i} />`:r`
    <section aria-label="Policies">
      <h2>Policies</h2>
      ${e?.length===0&&r`<p class="note">There is no policy: every client that may read sees everything. <a href="docs/how-to/permissions/">How to write policies</a>.</p>`}
      ${e?.map(o=>r`<details class="policy" key=${o[":policy/name"]}>
          <summary>
            <strong>${o[":policy/name"]}</strong>${" "}
            ${o[":policy/effect"]===":require"&&r`<span class="chip">requires</span> `}
            <span class="note">${k(o[":policy/ops"])} ${k(o[":policy/on"])} for ${k(o[":policy/roles"])}</span>
          </summary>
          <p class="note">Of the saved identities it is for: ${c.value.filter(n=>_(o,n)).map(({name:n})=>n).join(", ")||"none"}.</p>
          ${o[":policy/rules"]?r`<pre tabindex="0" aria-label="Rules">${o[":policy/rules"]}</pre>`:r`<p class="note">It has no rules, and is for all entities.</p>`}
        </details>`)}
    </section>
  `}function _(e,{roles:t}){let i=(e[":policy/roles"]??[]).map(s=>s.replace(/^:/,""));return i.includes("*")||t.some(s=>i.includes(s.replace(/^:/,"")))}function k(e=[]){return e.map(t=>t.replace(/^:/,"")).join(", ")||"nothing"}var O=h(`[{:policy/name "everybody reads names"
  :policy/roles [:*]
  :policy/ops [:read]
  :policy/on [:user/name]}]`),y=v("adalog:policy-queries",[]);function Q(){let[e,t]=m(),[i,s]=m(),[o,n]=m(""),[a,l]=m(!1),u=async d=>{l(!0),n("");try{await d(),s(void 0)}catch(p){s(p)}finally{l(!1)}},b=()=>u(async()=>{let d=[];for(let p of c.value)for(let w of y.value)d.push(await K(p,w,O.value));t(d),n(X(d))}),$=()=>u(async()=>{let{t:d}=await x.transact(O.value);t(void 0),n(`Committed as transaction ${d}.`)}),R={query:S.value.query,argsEdn:S.value.argsEdn},B=y.value.some(d=>Z(d,R));return r`
    <section aria-label="Try a change" aria-busy=${a}>
      <h2>Try a change of policies</h2>
      <${N} label="Change of policies" text=${O} onRun=${()=>{b()}} />
      <h3>Queries to compare</h3>
      ${y.value.length===0&&r`<p class="note">None yet. Ask one, then add it here.</p>`}
      <ul class="queries">
        ${y.value.map((d,p)=>r`<li key=${p}>
            <pre tabindex="0" aria-label="Query">${d.query}${d.argsEdn.length>0?`
; ${d.argsEdn.join(" ")}`:""}</pre>
            <button type="button" class="quiet" aria-label="Remove the query" onClick=${()=>y.value=y.value.filter(w=>w!==d)}>✕</button>
          </li>`)}
      </ul>
      <div class="row">
        <button type="button" class="quiet" disabled=${B} onClick=${()=>y.value=[...y.value,R]}>Add the query of Ask</button>
        <button type="button" disabled=${a||c.value.length===0||y.value.length===0} onClick=${()=>{b()}}>Try</button>
        <button type="button" class="quiet" disabled=${a||e===void 0} onClick=${()=>{$()}}>Commit</button>
      </div>
      <${f} error=${i} />
      <p role="status">${o}</p>
      ${e?.map((d,p)=>r`<${G} key=${p} outcome=${d} />`)}
    </section>
  `}function G({outcome:{identity:e,query:t,after:i,gained:s,lost:o}}){let n=[...s,...o],a=new Map([...s.map(l=>[l,"added"]),...o.map(l=>[l,"retracted"])]);return r`
    <details class="policy" open=${n.length>0&&n.length<=20}>
      <summary><strong>${e.name}</strong> gains ${s.length} and loses ${o.length} of <code>${ee(t.query)}</code></summary>
      ${n.length>0&&r`<div class="trial-rows"><${C} label=${`Rows that ${e.name} gains and loses`} columns=${i.columns} rows=${n} marks=${a} /></div>`}
    </details>
  `}async function K(e,t,i){let s={claims:e.claims,roles:e.roles},[o,n]=await Promise.all([g({...t,as:s}),g({...t,as:s,with:i})]),a=new Set(o.rows.map(u=>JSON.stringify(u))),l=new Set(n.rows.map(u=>JSON.stringify(u)));return{identity:e,query:t,after:n,gained:n.rows.filter(u=>!a.has(JSON.stringify(u))),lost:o.rows.filter(u=>!l.has(JSON.stringify(u)))}}function X(e){let t=e.filter(({gained:i,lost:s})=>i.length+s.length>0);return t.length===0?"No identity gains or loses a row of these queries.":`${new Set(t.map(({identity:i})=>i.name)).size} of ${c.value.length} identities gain or lose rows.`}function Z(e,t){return JSON.stringify(e)===JSON.stringify(t)}function ee(e){let t=e.replace(/\s+/g," ");return t.length>80?`${t.slice(0,79)}\u2026`:t}var te="query ($entity: EDN!, $as: AsInput!) { whyVisible(entity: $entity, as: $as) }";function D(){let[e,t]=m(),[i,s]=m();return r`
    <section aria-label="Visibility of an entity">
      <h2>What one sees of an entity, and why</h2>
      <form class="row" onSubmit=${async n=>{n.preventDefault();let a=new FormData(n.target),l=c.value.find(({name:$})=>$===a.get("identity"));if(l===void 0)return;let{claims:u,roles:b}=l;try{t((await I(te,{entity:a.get("entity"),as:{claims:u,roles:b}})).whyVisible),s(void 0)}catch($){s($)}}}>
        <label>Entity <input name="entity" required class="code" placeholder=${'[:user/email "ada@example.org"]'} /></label>
        <label>Identity <select name="identity" required>${c.value.map(({name:n})=>r`<option key=${n}>${n}</option>`)}</select></label>
        <button type="submit" disabled=${c.value.length===0}>Look</button>
      </form>
      ${c.value.length===0&&r`<p class="note">Add an identity first.</p>`}
      <${f} error=${i} />
      ${e&&r`<div role="status"><${oe} reasons=${e} /></div>`}
    </section>
  `}function oe({reasons:{everything:e,visible:t=[],hidden:i=[],policies:s=[]}}){return e!==void 0?r`<p>Everything is visible: ${e}.</p>`:r`
    <dl class="facts">
      <dt>Visible</dt>
      <dd>${t.join(", ")||"nothing"}</dd>
      <dt>Hidden</dt>
      <dd>${i.join(", ")||"nothing"}</dd>
    </dl>
    ${s.map(o=>r`<${ne} key=${o.policy} reason=${o} />`)}
  `}function ne({reason:e}){let{policy:t,effect:i,attributes:s,holds:o,facts:n,why:a}=e,l=n?n.map(u=>re(u,i)):M(e);return r`<details class="policy">
    <summary><strong>${t}</strong> <${L} effect=${i} holds=${o} /> <span class="note">${s.join(", ")}</span></summary>
    ${a&&r`<p class="note">${a[0]?.toUpperCase()}${a.slice(1)}.</p>`}
    ${l.length>0&&r`<${F} label=${`Why ${t} ${H(i,o)}`} roots=${l} />`}
  </details>`}function M({derivation:e,fails:t=[]}){return e?[V(void 0,e.rule,e)]:t.map(T)}function re(e,t){let{attribute:i,value:s,holds:o,why:n}=e,a=M(e);return{content:r`<span class="kind">fact</span> <code>${i} ${s}</code> <${L} effect=${t} holds=${o} />${n&&r`<p class="note">${n}</p>`}`,below:a.length>0?()=>a:void 0}}function L({effect:e,holds:t}){return r`<span class=${t?"good":"bad"}>${H(e,t)}</span>`}function H(e,t){return e==="require"?t?"is met":"is not met":t?"grants":"does not grant"}function Ue(){return r`
    <div class="whom">
      <h1>As whom</h1>
      <${J} />
      <${j} />
      <${D} />
      <${Q} />
    </div>
  `}export{Ue as Whom};
