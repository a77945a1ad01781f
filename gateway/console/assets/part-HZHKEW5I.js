import{a as h,e as d}from"./part-GJOCZJZ7.js";import{a}from"./part-BGX5RPQL.js";import{b as c}from"./part-5SBNPJNF.js";import{e as u}from"./part-E36UJHIO.js";function S({changes:o,labels:l,hasAttributes:p=!1}){return o.length===0?a`<p class="note">No changes.</p>`:a`<ol class="change-list">
    ${o.map(({attribute:r,value:s,isAdded:t,t:g,transaction:e,instant:n,principal:i})=>a`
        <li key=${`${r} ${e} ${t} ${String(s)}`} class=${t?"added":"retracted"}>
          <span class="change-when"><${h} text=${n} /> ${i!==null&&a`<span>by ${i}</span>`}</span>
          <span class="change-what">
            <span aria-hidden="true" class="sign">${t?"+":"\u2212"}</span><span class="hidden">${t?"asserted":"retracted"}</span>
            ${p&&a`<code>${r}</code>`}
            <${d} value=${s} type=${u(r)?.valueType??void 0} label=${l?.get(String(s))?.text} />
          </span>
          <${d} value=${e} type="ref" label=${`t ${g}`} />
        </li>
      `)}
  </ol>`}var f=`[:find ?a ?v ?t ?tx ?added ?when ?who
 :in $ ?e
 :where [?e ?a ?v ?tx ?added]
        [?tx :db/txInstant ?when]
        [(tx->t ?tx) ?t]
        (optional [?tx :db/principal ?who])]`;async function j(o,{basis:l,as:p},r){let s={query:f,argsEdn:[String(o)],basis:{...l,history:!0},as:p},{rows:t}=await c(s,r);return t.map(([e,n,i,y,$,b,m])=>({attribute:String(e),value:n??null,isAdded:$===!0,t:i,transaction:y,instant:String(b),principal:typeof m=="string"?m:null})).sort((e,n)=>Number(n.t)-Number(e.t)||Number(n.isAdded)-Number(e.isAdded))}export{S as a,j as b};
