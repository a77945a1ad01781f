import{a as A,b as k}from"./part-MZBCWGLL.js";import{a as D,b as j,c as g}from"./part-2XNXSVCA.js";import{a as I,c as P}from"./part-2KF6VXRP.js";import{b as v}from"./part-56TO7VDT.js";import{a as C}from"./part-PQQ22TZ7.js";import{a as r}from"./part-H5APD4YT.js";import{a as M,e as S}from"./part-MYFEB7IN.js";import{b as E}from"./part-7PNDONP5.js";import{f as N}from"./part-TSUFEJYE.js";import{d as p,f as x}from"./part-RZWRK72K.js";function J({changes:t,labels:n,hasAttributes:e=!1}){return t.length===0?r`<p class="note">No changes.</p>`:r`<ol class="changes">
    ${t.map(({attribute:i,value:l,isAdded:s,t:u,transaction:o,instant:a,principal:d})=>r`
        <li key=${`${i} ${o} ${s} ${String(l)}`} class=${s?"added":"retracted"}>
          <span class="change-when"><${D} text=${a} /> ${d!==null&&r`<span>by ${d}</span>`}</span>
          <span class="change-what">
            <span aria-hidden="true" class="sign">${s?"+":"\u2212"}</span><span class="hidden">${s?"asserted":"retracted"}</span>
            ${e&&r`<code>${i}</code>`}
            <${g} value=${l} type=${S(i)?.valueType??void 0} label=${n?.get(String(l))?.text} />
          </span>
          <${g} value=${o} type="ref" label=${`t ${u}`} />
        </li>
      `)}
  </ol>`}var R=`[:find ?a ?v ?t ?tx ?added ?when ?who
 :in $ ?e
 :where [?e ?a ?v ?tx ?added]
        [?tx :db/txInstant ?when]
        [(tx->t ?tx) ?t]
        (optional [?tx :db/principal ?who])]`;async function q(t,{basis:n,as:e},i){let l={query:R,argsEdn:[String(t)],basis:{...n,history:!0},as:e},{rows:s}=await E(l,i);return s.map(([o,a,d,f,m,w,c])=>({attribute:String(o),value:a??null,isAdded:m===!0,t:d,transaction:f,instant:String(w),principal:typeof c=="string"?c:null})).sort((o,a)=>Number(a.t)-Number(o.t)||Number(a.isAdded)-Number(o.isAdded))}var U=50,W="query ($components: [EDN!]!, $first: Int!, $after: String, $basis: BasisInput, $with: EDN, $as: AsInput) { datoms(index: VAET, components: $components, first: $first, after: $after, basis: $basis, with: $with, as: $as) { datoms { e a } pageInfo { hasNextPage endCursor } } }";function T({id:t,moment:n}){let[e,i]=p([]),[l,s]=p(new Map),[u,o]=p(),[a,d]=p(),[f,m]=p(!0),w=async $=>{m(!0);try{let{datoms:y}=await N(W,{components:[String(t)],first:U,after:$,...P(n)});i(L=>[...$===null?[]:L,...y.datoms]),o(y.pageInfo);let b=await k(y.datoms.map(({e:L})=>L),n);s(L=>new Map([...L,...b]))}catch(y){d(y)}finally{m(!1)}};x(()=>{w(null)},[t]);let c=[...new Set(e.map(({a:$})=>$))];return r`
    <section class="referrers" aria-busy=${f}>
      <h3>Referred to by</h3>
      <${C} error=${a} />
      ${!f&&!a&&e.length===0&&r`<p class="note">No entity refers to this one.</p>`}
      ${c.map($=>{let y=e.filter(({a:b})=>b===$);return r`
          <details key=${$} open>
            <summary><code>${$}</code> <span class="quiet-text">${y.length}${u?.hasNextPage&&$===e.at(-1)?.a?" so far":""}</span></summary>
            <ul class="values">
              ${y.map(({e:b})=>r`<li key=${b}><${g} value=${b} type="ref" label=${l.get(String(b))?.text} /></li>`)}
            </ul>
          </details>
        `})}
      ${u?.hasNextPage&&r`<button type="button" class="quiet small" disabled=${f} onClick=${()=>{w(u.endCursor)}}>More</button>`}
    </section>
  `}var h=":db/id",F='query ($eid: EDN!, $basis: BasisInput, $with: EDN, $as: AsInput) { pull(pattern: "[*]", eid: $eid, basis: $basis, with: $with, as: $as) }';function Ct({id:t,moment:n}){let[e,i]=p(),[l,s]=p(new Map),[u,o]=p();x(()=>{let m=new AbortController;return i(void 0),o(void 0),(async()=>{let{pull:c}=await N(F,{eid:String(t),...P(n)},m.signal);i(c),c&&s(await k(O(c),n,m.signal))})().catch(c=>m.signal.aborted||o(c)),()=>m.abort()},[t,JSON.stringify(n),M.value]);let a=e?.[h],d=G(a,n);if(u)return r`<${C} error=${u} />`;if(e===void 0)return r`<p class="note" role="status">Loading…</p>`;if(e===null||a===void 0)return r`<p class="note">This entity has no attributes that may be read.</p>`;let f=A(e);return r`
    <${I.Provider} value=${n}>
      <div class="entity">
        <h3 class="entity-name">${f?.text??`Entity ${a}`}</h3>
        <p class="row note">
          <a href=${H(a,n)}>Link to entity ${a}</a>
          <button type="button" class="quiet small" aria-pressed=${d.isShown} onClick=${d.toggle}>History</button>
          <${j} />
        </p>
        <${C} error=${d.error} />
        ${Object.keys(e).length<=1&&r`<p class="note">It has no attributes at this moment.</p>`}
        <${B} pulled=${e} labels=${l} changes=${d.isShown?d.all:void 0} />
        <${T} key=${a} id=${a} moment=${n} />
      </div>
    <//>
  `}function H(t,{basis:n,as:e}){return v("entity",{id:String(t),basis:n&&JSON.stringify(n),as:e&&JSON.stringify(e)})}function G(t,n){let[e,i]=p(!1),[l,s]=p(),[u,o]=p();return x(()=>{s(void 0),o(void 0),e&&t!==void 0&&q(t,n).then(s,o)},[t,e]),{isShown:e,all:l,error:u,toggle:()=>i(!e)}}function B({pulled:t,labels:n,changes:e}){let i=[...new Set(e?.map(s=>s.attribute)??[])].filter(s=>!(s in t)),l=[...Object.keys(t).filter(s=>s!==h),...i];return r`<dl class="attributes">
    ${l.map(s=>{let{valueType:u,cardinality:o,doc:a}=S(s)??{},d=[u,o==="many"?"many":void 0].filter(Boolean).join(", ");return r`
        <div key=${s} class="attribute">
          <dt title=${a??void 0}><code>${s}</code> <span class="quiet-text">${d}</span></dt>
          <dd>
            ${s in t?r`<${Q} name=${s} value=${t[s]??null} labels=${n} />`:r`<span class="nil">no value now</span>`}
            ${e&&r`<${J} changes=${e.filter(f=>f.attribute===s)} labels=${n} />`}
          </dd>
        </div>
      `})}
  </dl>`}var V=20;function Q({name:t,value:n,labels:e}){let[i,l]=p(!1),s=S(t),u=s?.valueType??void 0,o=Array.isArray(n)&&(s?.cardinality==="many"||u!=="tuple")?n:[n];return r`
    <ul class="values">
      ${(i?o:o.slice(0,V)).map((a,d)=>r`<li key=${d}><${Y} value=${a} type=${u} labels=${e} /></li>`)}
    </ul>
    ${o.length>V&&!i&&r`<button type="button" class="quiet small" onClick=${()=>l(!0)}>All ${o.length}</button>`}
  `}function Y({value:t,type:n,labels:e}){if(!Z(t))return r`<${g} value=${t} type=${n} />`;let i=e.get(String(t[h]))??A(t),l=r`<span class=${i?.isIdent?"chip":void 0}><${g} value=${t[h]} type="ref" label=${i?.text} /></span>`;return Object.keys(t).length>1?r`<div class="component">${l}<${B} pulled=${t} labels=${e} /></div>`:l}function Z(t){return typeof t=="object"&&t!==null&&!Array.isArray(t)&&h in t}function O(t){return typeof t!="object"||t===null?[]:Array.isArray(t)?t.flatMap(O):Object.entries(t).flatMap(([n,e])=>n===h?[e]:O(e))}export{Ct as a};
