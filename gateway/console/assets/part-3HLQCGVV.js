import{a as A,c as V,e as C}from"./part-T2ALI5UB.js";import"./part-ZETJPQHO.js";import{a as x,b as J}from"./part-TUUQKUQB.js";import"./part-CADC6RAC.js";import{a as T}from"./part-I5A673K4.js";import"./part-OQ547FIK.js";import"./part-2FHRFMTB.js";import"./part-LJZ7Y7LB.js";import"./part-IDDGE6OV.js";import"./part-UVVRTPSV.js";import"./part-H44NLXYV.js";import"./part-IPC6DJ4E.js";import{n as F,w as S}from"./part-NWNI4R2S.js";import"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{a as f}from"./part-SF3TZDU3.js";import{a as n}from"./part-BGX5RPQL.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import{c as P}from"./part-C3FHAUT3.js";import{b as g}from"./part-GJJ7KQSY.js";import"./part-E36UJHIO.js";import{d as N,f as I}from"./part-XTEOP6XV.js";import"./part-ZJ7BM5PU.js";import"./part-VTCKWQW5.js";import{d as m,f as q,n as h,p as E}from"./part-ST7TEUSA.js";function v(e,t){let s=h(W(e,t));return E(()=>{let r=JSON.stringify(s.value);try{localStorage.setItem(e,r)}catch{}}),s}function W(e,t){try{let s=localStorage.getItem(e);return s===null?t:JSON.parse(s)}catch{return t}}var c=v("adalog:identities",[]);function j(){let[e,t]=m(""),s=T(),r=o=>{o.preventDefault();let a=o.target,l=K(new FormData(a));if(typeof l=="string"){t(l);return}t(""),c.value=[...c.value.filter(({name:d})=>d!==l.name),l],a.reset()},i=o=>{c.value=c.value.filter(a=>a!==o)};return n`
    <section ref=${s} tabindex="-1" aria-label="Identities">
      <h2>Identities</h2>
      <p class="note">An identity is the roles and claims of a token. They are kept in this browser.</p>
      ${c.value.length>0&&n`<ul class="identities">
        ${c.value.map(o=>n`<li key=${o.name}>
            <strong>${o.name}</strong>
            <span>${o.roles.map(a=>n`<span class="chip" key=${a}>${a}</span> `)}</span>
            <code>${JSON.stringify(o.claims)}</code>
            <button type="button" onClick=${()=>z(o)}>Look as ${o.name}</button>
            <button type="button" class="quiet" aria-label=${`Remove ${o.name}`} onClick=${()=>i(o)}>✕</button>
          </li>`)}
      </ul>`}
      <form class="row identity-form" onSubmit=${r}>
        <label>Name <input name="name" required placeholder="ada" /></label>
        <label>Roles <input name="roles" placeholder="member, guest" /></label>
        <label>Claims <input name="claims" placeholder=${'{"sub": "ada"}'} class="code" /></label>
        <button type="submit">Add</button>
      </form>
      ${e&&n`<p class="error" role="alert">${e}</p>`}
    </section>
  `}function z({claims:e,roles:t}){F.value={claims:e,roles:t},P("ask")}function K(e){let t=i=>String(e.get(i)??"").trim(),s=t("roles").split(/[\s,]+/).filter(Boolean),r;try{r=JSON.parse(t("claims")||"{}")}catch{return'Claims are a JSON object, such as {"sub": "ada"}'}return typeof r!="object"||r===null||Array.isArray(r)?'Claims are a JSON object, such as {"sub": "ada"}':{name:t("name"),roles:s,claims:r}}var Y="[:find (pull ?p [*]) :where [?p :policy/name _]]";function Q(){let[e,t]=m(),[s,r]=m();return q(()=>{(async()=>(await g({query:Y,argsEdn:[]})).rows.map(([o])=>o))().then(t,r)},[]),s?n`<${f} error=${s} />`:n`
    <section aria-label="Policies">
      <h2>Policies</h2>
      ${e?.length===0&&n`<p class="note">There is no policy: every client that may read sees everything. <a href="docs/how-to/permissions/">How to write policies</a>.</p>`}
      ${e?.map(i=>n`<details class="policy" key=${i[":policy/name"]}>
          <summary>
            <strong>${i[":policy/name"]}</strong>${" "}
            ${i[":policy/effect"]===":require"&&n`<span class="chip">requires</span> `}
            <span class="note">${k(i[":policy/ops"])} ${k(i[":policy/on"])} for ${k(i[":policy/roles"])}</span>
          </summary>
          <p class="note">Of the saved identities it is for: ${c.value.filter(o=>_(i,o)).map(({name:o})=>o).join(", ")||"none"}.</p>
          ${i[":policy/rules"]?n`<pre tabindex="0" aria-label="Rules">${i[":policy/rules"]}</pre>`:n`<p class="note">It has no rules, and is for all entities.</p>`}
        </details>`)}
    </section>
  `}function _(e,{roles:t}){let s=(e[":policy/roles"]??[]).map(r=>r.replace(/^:/,""));return s.includes("*")||t.some(r=>s.includes(r.replace(/^:/,"")))}function k(e=[]){return e.map(t=>t.replace(/^:/,"")).join(", ")||"nothing"}var O=h(`[{:policy/name "everybody reads names"
  :policy/roles [:*]
  :policy/ops [:read]
  :policy/on [:user/name]}]`),y=v("adalog:policy-queries",[]);function D(){let[e,t]=m(),[s,r]=m(),[i,o]=m(""),[a,l]=m(!1),d=async u=>{l(!0),o("");try{await u(),r(void 0)}catch(p){r(p)}finally{l(!1)}},b=()=>d(async()=>{let u=[];for(let p of c.value)for(let w of y.value)u.push(await X(p,w,O.value));t(u),o(Z(u))}),$=()=>d(async()=>{let{t:u}=await N.transact(O.value);t(void 0),o(`Committed as transaction ${u}.`)}),R={query:S.value.query,argsEdn:S.value.argsEdn},U=y.value.some(u=>ee(u,R));return n`
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
        <button type="button" class="quiet" disabled=${U} onClick=${()=>y.value=[...y.value,R]}>Add the query of Ask</button>
        <button type="button" disabled=${a||c.value.length===0||y.value.length===0} onClick=${()=>{b()}}>Try</button>
        <button type="button" class="quiet" disabled=${a||e===void 0} onClick=${()=>{$()}}>Commit</button>
      </div>
      <${f} error=${s} />
      <p role="status">${i}</p>
      ${e?.map((u,p)=>n`<${G} key=${p} outcome=${u} />`)}
    </section>
  `}function G({outcome:{identity:e,query:t,after:s,gained:r,lost:i}}){let o=[...r,...i],a=new Map([...r.map(l=>[l,"added"]),...i.map(l=>[l,"retracted"])]);return n`
    <details class="policy" open=${o.length>0&&o.length<=20}>
      <summary><strong>${e.name}</strong> gains ${r.length} and loses ${i.length} of <code>${te(t.query)}</code></summary>
      ${o.length>0&&n`<div class="trial-rows"><${J} label=${`Rows that ${e.name} gains and loses`} columns=${s.columns} rows=${o} marks=${a} /></div>`}
    </details>
  `}async function X(e,t,s){let r={claims:e.claims,roles:e.roles},[i,o]=await Promise.all([g({...t,as:r}),g({...t,as:r,with:s})]),a=new Set(i.rows.map(d=>JSON.stringify(d))),l=new Set(o.rows.map(d=>JSON.stringify(d)));return{identity:e,query:t,after:o,gained:o.rows.filter(d=>!a.has(JSON.stringify(d))),lost:i.rows.filter(d=>!l.has(JSON.stringify(d)))}}function Z(e){let t=e.filter(({gained:s,lost:r})=>s.length+r.length>0);return t.length===0?"No identity gains or loses a row of these queries.":`${new Set(t.map(({identity:s})=>s.name)).size} of ${c.value.length} identities gain or lose rows.`}function ee(e,t){return JSON.stringify(e)===JSON.stringify(t)}function te(e){let t=e.replace(/\s+/g," ");return t.length>80?`${t.slice(0,79)}\u2026`:t}var oe="query ($entity: EDN!, $as: AsInput!) { whyVisible(entity: $entity, as: $as) }";function M(){let[e,t]=m(),[s,r]=m();return n`
    <section aria-label="Visibility of an entity">
      <h2>What one sees of an entity, and why</h2>
      <form class="row" onSubmit=${async o=>{o.preventDefault();let a=new FormData(o.target),l=c.value.find(({name:$})=>$===a.get("identity"));if(l===void 0)return;let{claims:d,roles:b}=l;try{t((await I(oe,{entity:a.get("entity"),as:{claims:d,roles:b}})).whyVisible),r(void 0)}catch($){r($)}}}>
        <label>Entity <input name="entity" required class="code" placeholder=${'[:user/email "ada@example.org"]'} /></label>
        <label>Identity <select name="identity" required>${c.value.map(({name:o})=>n`<option key=${o}>${o}</option>`)}</select></label>
        <button type="submit" disabled=${c.value.length===0}>Look</button>
      </form>
      ${c.value.length===0&&n`<p class="note">Add an identity first.</p>`}
      <${f} error=${s} />
      ${e&&n`<div role="status"><${ne} reasons=${e} /></div>`}
    </section>
  `}function ne({reasons:{everything:e,visible:t=[],hidden:s=[],policies:r=[]}}){return e!==void 0?n`<p>Everything is visible: ${e}.</p>`:n`
    <dl class="facts">
      <dt>Visible</dt>
      <dd>${t.join(", ")||"nothing"}</dd>
      <dt>Hidden</dt>
      <dd>${s.join(", ")||"nothing"}</dd>
    </dl>
    ${r.map(i=>n`<${re} key=${i.policy} reason=${i} />`)}
  `}function re({reason:e}){let{policy:t,effect:s,attributes:r,holds:i,facts:o,why:a}=e,l=o?o.map(d=>se(d,s)):L(e);return n`<details class="policy">
    <summary><strong>${t}</strong> <${H} effect=${s} holds=${i} /> <span class="note">${r.join(", ")}</span></summary>
    ${a&&n`<p class="note">${a[0]?.toUpperCase()}${a.slice(1)}.</p>`}
    ${l.length>0&&n`<${A} label=${`Why ${t} ${B(s,i)}`} roots=${l} />`}
  </details>`}function L({derivation:e,fails:t=[]}){return e?[C(void 0,e.rule,e)]:t.map(V)}function se(e,t){let{attribute:s,value:r,holds:i,why:o}=e,a=L(e);return{content:n`<span class="kind">fact</span> <code>${s} ${r}</code> <${H} effect=${t} holds=${i} />${o&&n`<p class="note">${o}</p>`}`,below:a.length>0?()=>a:void 0}}function H({effect:e,holds:t}){return n`<span class=${t?"good":"bad"}>${B(e,t)}</span>`}function B(e,t){return e==="require"?t?"is met":"is not met":t?"grants":"does not grant"}function ze(){return n`
    <div class="whom">
      <h1>As whom</h1>
      <${j} />
      <${Q} />
      <${M} />
      <${D} />
    </div>
  `}export{ze as Whom};
