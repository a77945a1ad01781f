import{a as V,c as J,e as j}from"./part-VK5PNP6C.js";import"./part-3GAYDXTZ.js";import{a as x,b as Q}from"./part-NP4RHPSR.js";import"./part-WNXJMTH6.js";import{a as C}from"./part-I5A673K4.js";import"./part-OQ547FIK.js";import"./part-GJOCZJZ7.js";import"./part-LJZ7Y7LB.js";import"./part-7VBUNBJ5.js";import"./part-UVVRTPSV.js";import"./part-H44NLXYV.js";import"./part-IPC6DJ4E.js";import{n as T,w as k}from"./part-VWBY6ZJU.js";import"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{a as f}from"./part-SF3TZDU3.js";import{a as n}from"./part-BGX5RPQL.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import{c as F}from"./part-C3FHAUT3.js";import{b as g,c as P,d as S}from"./part-5SBNPJNF.js";import"./part-E36UJHIO.js";import{d as I,f as N}from"./part-XTEOP6XV.js";import"./part-ZJ7BM5PU.js";import"./part-VTCKWQW5.js";import{d as m,f as A,n as h,p as E}from"./part-ST7TEUSA.js";function v(t,e){let s=h(z(t,e));return E(()=>{let r=JSON.stringify(s.value);try{localStorage.setItem(t,r)}catch{}}),s}function z(t,e){try{let s=localStorage.getItem(t);return s===null?e:JSON.parse(s)}catch{return e}}var d=v("adalog:identities",[]);function D(){let[t,e]=m(""),s=C(),r=o=>{o.preventDefault();let a=o.target,c=_(new FormData(a));if(typeof c=="string"){e(c);return}e(""),d.value=[...d.value.filter(({name:l})=>l!==c.name),c],a.reset()},i=o=>{d.value=d.value.filter(a=>a!==o)};return n`
    <section ref=${s} tabindex="-1" aria-label="Identities">
      <h2>Identities</h2>
      <p class="note">An identity is the roles and claims of a token. They are kept in this browser.</p>
      ${d.value.length>0&&n`<ul class="identities">
        ${d.value.map(o=>n`<li key=${o.name}>
            <strong>${o.name}</strong>
            <span>${o.roles.map(a=>n`<span class="chip" key=${a}>${a}</span> `)}</span>
            <code>${JSON.stringify(o.claims)}</code>
            <button type="button" onClick=${()=>K(o)}>Look as ${o.name}</button>
            <button type="button" class="quiet" aria-label=${`Remove ${o.name}`} onClick=${()=>i(o)}>✕</button>
          </li>`)}
      </ul>`}
      <form class="row identity-form" onSubmit=${r}>
        <label>Name <input name="name" required placeholder="ada" /></label>
        <label>Roles <input name="roles" placeholder="member, guest" /></label>
        <label>Claims <input name="claims" placeholder=${'{"sub": "ada"}'} class="code" /></label>
        <button type="submit">Add</button>
      </form>
      ${t&&n`<p class="error" role="alert">${t}</p>`}
    </section>
  `}function K({claims:t,roles:e}){T.value={claims:t,roles:e},F("ask")}function _(t){let e=i=>String(t.get(i)??"").trim(),s=e("roles").split(/[\s,]+/).filter(Boolean),r;try{r=JSON.parse(e("claims")||"{}")}catch{return'Claims are a JSON object, such as {"sub": "ada"}'}return typeof r!="object"||r===null||Array.isArray(r)?'Claims are a JSON object, such as {"sub": "ada"}':{name:e("name"),roles:s,claims:r}}var G="[:find (pull ?p [*]) :where [?p :policy/name _]]";function M(){let[t,e]=m(),[s,r]=m();return A(()=>{(async()=>(await g({query:G,argsEdn:[]})).rows.map(([o])=>o))().then(e,r)},[]),s?n`<${f} error=${s} />`:n`
    <section aria-label="Policies">
      <h2>Policies</h2>
      ${t?.length===0&&n`<p class="note">There is no policy: every client that may read sees everything. <a href="docs/how-to/permissions/">How to write policies</a>.</p>`}
      ${t?.map(i=>n`<details class="policy" key=${i[":policy/name"]}>
          <summary>
            <strong>${i[":policy/name"]}</strong>${" "}
            ${i[":policy/effect"]===":require"&&n`<span class="chip">requires</span> `}
            <span class="note">${R(i[":policy/ops"])} ${R(i[":policy/on"])} for ${R(i[":policy/roles"])}</span>
          </summary>
          <p class="note">Of the saved identities it is for: ${d.value.filter(o=>X(i,o)).map(({name:o})=>o).join(", ")||"none"}.</p>
          ${i[":policy/rules"]?n`<pre tabindex="0" aria-label="Rules">${i[":policy/rules"]}</pre>`:n`<p class="note">It has no rules, and is for all entities.</p>`}
        </details>`)}
    </section>
  `}function X(t,{roles:e}){let s=(t[":policy/roles"]??[]).map(r=>r.replace(/^:/,""));return s.includes("*")||e.some(r=>s.includes(r.replace(/^:/,"")))}function R(t=[]){return t.map(e=>e.replace(/^:/,"")).join(", ")||"nothing"}var O=h(`[{:policy/name "everybody reads names"
  :policy/roles [:*]
  :policy/ops [:read]
  :policy/on [:user/name]}]`),y=v("adalog:policy-queries",[]);function L(){let[t,e]=m(),[s,r]=m(),[i,o]=m(""),[a,c]=m(!1),l=async u=>{c(!0),o("");try{await u(),r(void 0)}catch(p){r(p)}finally{c(!1)}},b=()=>l(async()=>{let u=[];for(let p of d.value)for(let w of y.value)u.push(await ee(p,w,O.value));e(u),o(te(u))}),$=()=>l(async()=>{let{t:u}=await I.transact(O.value);e(void 0),o(`Committed as transaction ${u}.`)}),q={query:k.value.query,argsEdn:k.value.argsEdn},Y=y.value.some(u=>oe(u,q));return n`
    <section aria-label="Try a change" aria-busy=${a}>
      <h2>Try a change of policies</h2>
      <${x} label="Change of policies" text=${O} onRun=${()=>{b()}} />
      <h3>Queries to compare</h3>
      ${y.value.length===0&&n`<p class="note">None yet. Ask one, then add it here.</p>`}
      <ul class="queries">
        ${y.value.map((u,p)=>n`<li key=${p}>
            <pre tabindex="0" aria-label="Query">${u.query}${u.argsEdn.length>0?`
; ${u.argsEdn.join(" ")}`:""}</pre>
            <button type="button" class="quiet" aria-label="Remove the query" onClick=${()=>y.value=y.value.filter(w=>w!==u)}>✕</button>
          </li>`)}
      </ul>
      <div class="row">
        <button type="button" class="quiet" disabled=${Y} onClick=${()=>y.value=[...y.value,q]}>Add the query of Ask</button>
        <button type="button" disabled=${a||d.value.length===0||y.value.length===0} onClick=${()=>{b()}}>Try</button>
        <button type="button" class="quiet" disabled=${a||t===void 0} onClick=${()=>{$()}}>Commit</button>
      </div>
      <${f} error=${s} />
      <p role="status">${i}</p>
      ${t?.map((u,p)=>n`<${Z} key=${p} outcome=${u} />`)}
    </section>
  `}function Z({outcome:{identity:t,query:e,after:s,gained:r,lost:i,isArbitrary:o}}){let a=[...r,...i],c=new Map([...r.map(l=>[l,"added"]),...i.map(l=>[l,"retracted"])]);return n`
    <details class="policy" open=${a.length>0&&a.length<=20}>
      <summary><strong>${t.name}</strong> gains ${r.length} and loses ${i.length} of <code>${ne(e.query)}</code></summary>
      ${a.length>0&&o&&n`<p class="note">${P}</p>`}
      ${a.length>0&&n`<div class="trial-rows"><${Q} label=${`Rows that ${t.name} gains and loses`} columns=${s.columns} rows=${a} marks=${c} /></div>`}
    </details>
  `}async function ee(t,e,s){let r={claims:t.claims,roles:t.roles},[i,o]=await Promise.all([g({...e,as:r}),g({...e,as:r,with:s})]),a=new Set(i.rows.map(l=>JSON.stringify(l))),c=new Set(o.rows.map(l=>JSON.stringify(l)));return{identity:t,query:e,after:o,gained:o.rows.filter(l=>!a.has(JSON.stringify(l))),lost:i.rows.filter(l=>!c.has(JSON.stringify(l))),isArbitrary:S(e,i.rows)||S(e,o.rows)}}function te(t){let e=t.filter(({gained:s,lost:r})=>s.length+r.length>0);return e.length===0?"No identity gains or loses a row of these queries.":`${new Set(e.map(({identity:s})=>s.name)).size} of ${d.value.length} identities gain or lose rows.`}function oe(t,e){return JSON.stringify(t)===JSON.stringify(e)}function ne(t){let e=t.replace(/\s+/g," ");return e.length>80?`${e.slice(0,79)}\u2026`:e}var re="query ($entity: EDN!, $as: AsInput!) { whyVisible(entity: $entity, as: $as) }";function H(){let[t,e]=m(),[s,r]=m();return n`
    <section aria-label="Visibility of an entity">
      <h2>What one sees of an entity, and why</h2>
      <form class="row" onSubmit=${async o=>{o.preventDefault();let a=new FormData(o.target),c=d.value.find(({name:$})=>$===a.get("identity"));if(c===void 0)return;let{claims:l,roles:b}=c;try{e((await N(re,{entity:a.get("entity"),as:{claims:l,roles:b}})).whyVisible),r(void 0)}catch($){r($)}}}>
        <label>Entity <input name="entity" required class="code" placeholder=${'[:user/email "ada@example.org"]'} /></label>
        <label>Identity <select name="identity" required>${d.value.map(({name:o})=>n`<option key=${o}>${o}</option>`)}</select></label>
        <button type="submit" disabled=${d.value.length===0}>Look</button>
      </form>
      ${d.value.length===0&&n`<p class="note">Add an identity first.</p>`}
      <${f} error=${s} />
      ${t&&n`<div role="status"><${se} reasons=${t} /></div>`}
    </section>
  `}function se({reasons:{everything:t,visible:e=[],hidden:s=[],policies:r=[]}}){return t!==void 0?n`<p>Everything is visible: ${t}.</p>`:n`
    <dl class="facts">
      <dt>Visible</dt>
      <dd>${e.join(", ")||"nothing"}</dd>
      <dt>Hidden</dt>
      <dd>${s.join(", ")||"nothing"}</dd>
    </dl>
    ${r.map(i=>n`<${ie} key=${i.policy} reason=${i} />`)}
  `}function ie({reason:t}){let{policy:e,effect:s,attributes:r,holds:i,facts:o,why:a}=t,c=o?o.map(l=>ae(l,s)):B(t);return n`<details class="policy">
    <summary><strong>${e}</strong> <${U} effect=${s} holds=${i} /> <span class="note">${r.join(", ")}</span></summary>
    ${a&&n`<p class="note">${a[0]?.toUpperCase()}${a.slice(1)}.</p>`}
    ${c.length>0&&n`<${V} label=${`Why ${e} ${W(s,i)}`} roots=${c} />`}
  </details>`}function B({derivation:t,fails:e=[]}){return t?[j(void 0,t.rule,t)]:e.map(J)}function ae(t,e){let{attribute:s,value:r,holds:i,why:o}=t,a=B(t);return{content:n`<span class="kind">fact</span> <code>${s} ${r}</code> <${U} effect=${e} holds=${i} />${o&&n`<p class="note">${o}</p>`}`,below:a.length>0?()=>a:void 0}}function U({effect:t,holds:e}){return n`<span class=${e?"good":"bad"}>${W(t,e)}</span>`}function W(t,e){return t==="require"?e?"is met":"is not met":e?"grants":"does not grant"}function Ke(){return n`
    <div class="whom">
      <h1>As whom</h1>
      <${D} />
      <${M} />
      <${H} />
      <${L} />
    </div>
  `}export{Ke as Whom};
