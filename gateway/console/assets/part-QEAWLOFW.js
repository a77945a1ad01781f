import{a as v,b as J}from"./part-2VA6NKAB.js";import{a as N,b as O}from"./part-4PWXK2BP.js";import{b as D,e as k}from"./part-YASVWELG.js";import{a as I,c as S}from"./part-2KF6VXRP.js";import{a as L}from"./part-PQQ22TZ7.js";import{a as o}from"./part-H5APD4YT.js";import{b as M}from"./part-56TO7VDT.js";import{a as C,e as E}from"./part-5H6WSBG3.js";import{f as P}from"./part-CNZ6Q6GD.js";import{d as l,f as w}from"./part-RZWRK72K.js";var V=50,B="query ($components: [EDN!]!, $first: Int!, $after: String, $basis: BasisInput, $with: EDN, $as: AsInput) { datoms(index: VAET, components: $components, first: $first, after: $after, basis: $basis, with: $with, as: $as) { datoms { e a } pageInfo { hasNextPage endCursor } } }";function j({id:t,moment:n}){let[e,r]=l([]),[d,s]=l(new Map),[u,a]=l(),[i,f]=l(),[$,m]=l(!0),A=async c=>{m(!0);try{let{datoms:p}=await P(B,{components:[String(t)],first:V,after:c,...S(n)});r(h=>[...c===null?[]:h,...p.datoms]),a(p.pageInfo);let b=await O(p.datoms.map(({e:h})=>h),n);s(h=>new Map([...h,...b]))}catch(p){f(p)}finally{m(!1)}};w(()=>{A(null)},[t]);let y=[...new Set(e.map(({a:c})=>c))];return o`
    <section class="referrers" aria-busy=${$}>
      <h3>Referred to by</h3>
      <${L} error=${i} />
      ${!$&&!i&&e.length===0&&o`<p class="note">No entity refers to this one.</p>`}
      ${y.map(c=>{let p=e.filter(({a:b})=>b===c);return o`
          <details key=${c} open>
            <summary><code>${c}</code> <span class="quiet-text">${p.length}${u?.hasNextPage&&c===e.at(-1)?.a?" so far":""}</span></summary>
            <ul class="values">
              ${p.map(({e:b})=>o`<li key=${b}><${k} value=${b} type="ref" label=${d.get(String(b))?.text} /></li>`)}
            </ul>
          </details>
        `})}
      ${u?.hasNextPage&&o`<button type="button" class="quiet small" disabled=${$} onClick=${()=>{A(u.endCursor)}}>More</button>`}
    </section>
  `}var g=":db/id",R='query ($eid: EDN!, $basis: BasisInput, $with: EDN, $as: AsInput) { pull(pattern: "[*]", eid: $eid, basis: $basis, with: $with, as: $as) }';function $t({id:t,moment:n}){let[e,r]=l(),[d,s]=l(new Map),[u,a]=l();w(()=>{let m=new AbortController;return r(void 0),a(void 0),(async()=>{let{pull:y}=await P(R,{eid:String(t),...S(n)},m.signal);r(y),y&&s(await O(x(y),n,m.signal))})().catch(y=>m.signal.aborted||a(y)),()=>m.abort()},[t,JSON.stringify(n),C.value]);let i=e?.[g],f=F(i,n);if(u)return o`<${L} error=${u} />`;if(e===void 0)return o`<p class="note" role="status">Loading…</p>`;if(e===null||i===void 0)return o`<p class="note">This entity has no attributes that may be read.</p>`;let $=N(e);return o`
    <${I.Provider} value=${n}>
      <div class="entity">
        <h3 class="entity-name">${$?.text??`Entity ${i}`}</h3>
        <p class="row note">
          <a href=${W(i,n)}>Link to entity ${i}</a>
          <button type="button" class="quiet small" aria-pressed=${f.isShown} onClick=${f.toggle}>History</button>
          <${D} />
        </p>
        <${L} error=${f.error} />
        ${Object.keys(e).length<=1&&o`<p class="note">It has no attributes at this moment.</p>`}
        <${T} pulled=${e} labels=${d} changes=${f.isShown?f.all:void 0} />
        <${j} key=${i} id=${i} moment=${n} />
      </div>
    <//>
  `}function W(t,{basis:n,as:e}){return M("entity",{id:String(t),basis:n&&JSON.stringify(n),as:e&&JSON.stringify(e)})}function F(t,n){let[e,r]=l(!1),[d,s]=l(),[u,a]=l();return w(()=>{s(void 0),a(void 0),e&&t!==void 0&&J(t,n).then(s,a)},[t,e]),{isShown:e,all:d,error:u,toggle:()=>r(!e)}}function T({pulled:t,labels:n,changes:e}){let r=[...new Set(e?.map(s=>s.attribute)??[])].filter(s=>!(s in t)),d=[...Object.keys(t).filter(s=>s!==g),...r];return o`<dl class="attributes">
    ${d.map(s=>{let{valueType:u,cardinality:a,doc:i}=E(s)??{},f=[u,a==="many"?"many":void 0].filter(Boolean).join(", ");return o`
        <div key=${s} class="attribute">
          <dt title=${i??void 0}><code>${s}</code> <span class="quiet-text">${f}</span></dt>
          <dd>
            ${s in t?o`<${H} name=${s} value=${t[s]??null} labels=${n} />`:o`<span class="nil">no value now</span>`}
            ${e&&o`<${v} changes=${e.filter($=>$.attribute===s)} labels=${n} />`}
          </dd>
        </div>
      `})}
  </dl>`}var q=20;function H({name:t,value:n,labels:e}){let[r,d]=l(!1),s=E(t),u=s?.valueType??void 0,a=Array.isArray(n)&&(s?.cardinality==="many"||u!=="tuple")?n:[n];return o`
    <ul class="values">
      ${(r?a:a.slice(0,q)).map((i,f)=>o`<li key=${f}><${U} value=${i} type=${u} labels=${e} /></li>`)}
    </ul>
    ${a.length>q&&!r&&o`<button type="button" class="quiet small" onClick=${()=>d(!0)}>All ${a.length}</button>`}
  `}function U({value:t,type:n,labels:e}){if(!G(t))return o`<${k} value=${t} type=${n} />`;let r=e.get(String(t[g]))??N(t),d=o`<span class=${r?.isIdent?"chip":void 0}><${k} value=${t[g]} type="ref" label=${r?.text} /></span>`;return Object.keys(t).length>1?o`<div class="component">${d}<${T} pulled=${t} labels=${e} /></div>`:d}function G(t){return typeof t=="object"&&t!==null&&!Array.isArray(t)&&g in t}function x(t){return typeof t!="object"||t===null?[]:Array.isArray(t)?t.flatMap(x):Object.entries(t).flatMap(([n,e])=>n===g?[e]:x(e))}export{$t as a};
