import{a as J,b as j}from"./part-HZHKEW5I.js";import{a as A,b as E}from"./part-APBLB4GF.js";import{a as D}from"./part-I5A673K4.js";import{b as I,e as k}from"./part-GJOCZJZ7.js";import{a as v,c as S}from"./part-LJZ7Y7LB.js";import{a as L}from"./part-SF3TZDU3.js";import{a as s}from"./part-BGX5RPQL.js";import{b as C}from"./part-C3FHAUT3.js";import{a as N,e as x}from"./part-E36UJHIO.js";import{f as P}from"./part-XTEOP6XV.js";import{d as i,f as w}from"./part-ST7TEUSA.js";var B=50,F="query ($components: [EDN!]!, $first: Int!, $after: String, $basis: BasisInput, $with: EDN, $as: AsInput) { datoms(index: VAET, components: $components, first: $first, after: $after, basis: $basis, with: $with, as: $as) { datoms { e a } pageInfo { hasNextPage endCursor } } }";function q({id:t,moment:n}){let[e,a]=i([]),[u,o]=i(new Map),[l,d]=i(),[r,f]=i(),[c,m]=i(!0),O=async p=>{m(!0);try{let{datoms:$}=await P(F,{components:[String(t)],first:B,after:p,...S(n)});a(h=>[...p===null?[]:h,...$.datoms]),d($.pageInfo);let b=await E($.datoms.map(({e:h})=>h),n);o(h=>new Map([...h,...b]))}catch($){f($)}finally{m(!1)}};w(()=>{O(null)},[t]);let y=[...new Set(e.map(({a:p})=>p))];return s`
    <section class="referrers" aria-busy=${c}>
      <h3>Referred to by</h3>
      <${L} error=${r} />
      ${!c&&!r&&e.length===0&&s`<p class="note">No entity refers to this one.</p>`}
      ${y.map(p=>{let $=e.filter(({a:b})=>b===p);return s`
          <details key=${p} open>
            <summary><code>${p}</code> <span class="quiet-text">${$.length}${l?.hasNextPage&&p===e.at(-1)?.a?" so far":""}</span></summary>
            <ul class="values">
              ${$.map(({e:b})=>s`<li key=${b}><${k} value=${b} type="ref" label=${u.get(String(b))?.text} /></li>`)}
            </ul>
          </details>
        `})}
      ${l?.hasNextPage&&s`<button type="button" class="quiet small" disabled=${c} onClick=${()=>{O(l.endCursor)}}>More</button>`}
    </section>
  `}var g=":db/id",H='query ($eid: EDN!, $basis: BasisInput, $with: EDN, $as: AsInput) { pull(pattern: "[*]", eid: $eid, basis: $basis, with: $with, as: $as) }';function yt({id:t,moment:n}){let[e,a]=i(),[u,o]=i(new Map),[l,d]=i();w(()=>{let m=new AbortController;return a(void 0),d(void 0),(async()=>{let{pull:y}=await P(H,{eid:String(t),...S(n)},m.signal);a(y),y&&o(await E(M(y),n,m.signal))})().catch(y=>m.signal.aborted||d(y)),()=>m.abort()},[t,JSON.stringify(n),N.value]);let r=e?.[g],f=W(r,n);if(l)return s`<${L} error=${l} />`;if(e===void 0)return s`<p class="note" role="status">Loading…</p>`;if(e===null||r===void 0)return s`<p class="note">This entity has no attributes that may be read.</p>`;let c=A(e);return s`
    <${v.Provider} value=${n}>
      <div class="entity">
        <h3 class="entity-name">${c?.text??`Entity ${r}`}</h3>
        <p class="row note">
          <a href=${R(r,n)}>Link to entity ${r}</a>
          <button type="button" class="quiet small" aria-pressed=${f.isShown} onClick=${f.toggle}>History</button>
          <${I} />
        </p>
        <${L} error=${f.error} />
        ${Object.keys(e).length<=1&&s`<p class="note">It has no attributes at this moment.</p>`}
        <${V} pulled=${e} labels=${u} changes=${f.isShown?f.all:void 0} />
        <${q} key=${r} id=${r} moment=${n} />
      </div>
    <//>
  `}function R(t,{basis:n,as:e}){return C("entity",{id:String(t),basis:n&&JSON.stringify(n),as:e&&JSON.stringify(e)})}function W(t,n){let[e,a]=i(!1),[u,o]=i(),[l,d]=i();return w(()=>{o(void 0),d(void 0),e&&t!==void 0&&j(t,n).then(o,d)},[t,e]),{isShown:e,all:u,error:l,toggle:()=>a(!e)}}function V({pulled:t,labels:n,changes:e}){let a=[...new Set(e?.map(o=>o.attribute)??[])].filter(o=>!(o in t)),u=[...Object.keys(t).filter(o=>o!==g),...a];return s`<dl class="attributes">
    ${u.map(o=>{let{valueType:l,cardinality:d,doc:r}=x(o)??{},f=[l,d==="many"?"many":void 0].filter(Boolean).join(", ");return s`
        <div key=${o} class="attribute">
          <dt title=${r??void 0}><code>${o}</code> <span class="quiet-text">${f}</span></dt>
          <dd>
            ${o in t?s`<${U} name=${o} value=${t[o]??null} labels=${n} />`:s`<span class="nil">no value now</span>`}
            ${e&&s`<${J} changes=${e.filter(c=>c.attribute===o)} labels=${n} />`}
          </dd>
        </div>
      `})}
  </dl>`}var T=20;function U({name:t,value:n,labels:e}){let[a,u]=i(!1),o=D(),l=x(t),d=l?.valueType??void 0,r=Array.isArray(n)&&(l?.cardinality==="many"||d!=="tuple")?n:[n];return s`
    <div ref=${o} tabindex="-1" role="group" aria-label=${`Values of ${t}`}>
      <ul class="values">
        ${(a?r:r.slice(0,T)).map((f,c)=>s`<li key=${c}><${G} value=${f} type=${d} labels=${e} /></li>`)}
      </ul>
      ${r.length>T&&!a&&s`<button type="button" class="quiet small" onClick=${()=>u(!0)}>All ${r.length}</button>`}
    </div>
  `}function G({value:t,type:n,labels:e}){if(!K(t))return s`<${k} value=${t} type=${n} />`;let a=e.get(String(t[g]))??A(t),u=s`<span class=${a?.isIdent?"chip":void 0}><${k} value=${t[g]} type="ref" label=${a?.text} /></span>`;return Object.keys(t).length>1?s`<div class="component">${u}<${V} pulled=${t} labels=${e} /></div>`:u}function K(t){return typeof t=="object"&&t!==null&&!Array.isArray(t)&&g in t}function M(t){return typeof t!="object"||t===null?[]:Array.isArray(t)?t.flatMap(M):Object.entries(t).flatMap(([n,e])=>n===g?[e]:M(e))}export{yt as a};
