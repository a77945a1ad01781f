import{a as _,b as L,c as j,d as $,e as m,f as x,g as A,h as F,i as S}from"./part-UR4SPDYF.js";import{g as E,i as q,k as N}from"./part-VWBY6ZJU.js";import"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{a}from"./part-BGX5RPQL.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import"./part-C3FHAUT3.js";import"./part-5SBNPJNF.js";import{a as y,e as R}from"./part-E36UJHIO.js";import{f as O}from"./part-XTEOP6XV.js";import"./part-ZJ7BM5PU.js";import"./part-VTCKWQW5.js";import{d as T,f as C,n as k}from"./part-ST7TEUSA.js";var I="kind name ofType { kind name ofType { kind name ofType { kind name } } }",G=`query ($name: String!) { __type(name: $name) { fields { name type { ${I} } } } query: __type(name: "Query") { fields { name type { ${I} } } } }`;async function D(e){let t=e.split(/[^A-Za-z0-9]+/).map(r=>r.slice(0,1).toUpperCase()+r.slice(1)).join(""),n=await O(G,{name:t}),s=n.query?.fields.find(({type:r})=>v(r)&&b(r).name===t)?.name;if(n.__type===null||s===void 0)return;let o=n.__type.fields.map(r=>{let{kind:l}=b(r.type);return[r.name,{isObject:["OBJECT","INTERFACE","UNION"].includes(l),isEnum:l==="ENUM",isList:v(r.type)}]});return{list:s,fields:new Map(o)}}function b(e){return e.ofType?b(e.ofType):e}function v(e){return e.kind==="LIST"||(e.ofType?v(e.ofType):!1)}var H={is:"eq","<":"lt","\u2264":"lte",">":"gt","\u2265":"gte",contains:"contains","starts with":"startsWith","ends with":"endsWith"};function U(e,t,{list:n,fields:s}){let o=p=>{let c=B(m(p));return s.has(c)?c:void 0},r=e.columns.map(p=>{let c=o(p);return c===void 0?void 0:s.get(c)?.isObject?`${c} { id }`:c}),l=F(e,t).map(p=>J(p,t,o(p.attribute),s)),d=e.order?o(e.order):"";if(r.includes(void 0)||l.includes(void 0)||d===void 0||A($(e.type,t))===void 0)return;let u=l.length===0?"":l.length===1?l[0]:`{${e.match==="all"?"and":"or"}: [${l.join(", ")}]}`,i=[u&&`where: ${u}`,d&&`orderBy: [{${d}: ${e.isDescending?"DESC":"ASC"}}]`,`first: ${e.limit}`].filter(Boolean);return`{
  ${n}(${i.join(", ")}) {
    ${["id",...r].join(`
    `)}
  }
}`}function J({attribute:e,operator:t,value:n},s,o,r){let l=s.find(({ident:i})=>i===e),d=o===void 0?void 0:r.get(o);if(d===void 0||d.isList||d.isEnum)return;if(t==="has a value"||t==="has none"){let i=t==="has none";return d.isObject?`{${o}IsNull: ${i}}`:`{${o}: {isNull: ${i}}}`}let u;if(d.isObject){let[i,p=""]=E(n)??[],c=s.find(({ident:V})=>V===i)?.valueType,h=i?M(p,c):void 0;u=i&&h?`{${B(m(i))}: {eq: ${h}}}`:/^\d+$/.test(n)?`{id: {eq: "${n}"}}`:void 0}else{let i=M(n,l?.valueType);u=i&&`{${H[t]??"eq"}: ${i}}`}if(u)return t==="is not"?`{not: {${o}: ${u}}}`:`{${o}: ${u}}`}function M(e,t){let n=q(e,t??void 0);if(n!==void 0)return["long","double","float","boolean"].includes(t??"")?n:t==="instant"?JSON.stringify(`${n}Z`):["string","uuid","keyword"].includes(t??"")?JSON.stringify(n):void 0}function B(e){return e.replace(/[^A-Za-z0-9]+(.)/g,(t,n)=>n.toUpperCase())}var Q=k(void 0);function f(e){Q.value=e,N.value=S(e,y.value)}var g=e=>e.target.value;function de(){let e=Q.value,t=j(y.value);return a`
    <section class="builder" aria-label="Builder">
      <label>Find every <select aria-label="Type" value=${e?.type??""} onChange=${n=>f(x(g(n),y.value))}>
        ${!e&&a`<option value="">choose a type</option>`}
        ${t.map(n=>a`<option key=${n} value=${n}>${n}</option>`)}
      </select></label>
      ${e&&a`<${W} now=${e} /><${Z} now=${e} /><${w} now=${e} /><${z} now=${e} />`}
    </section>
  `}function W({now:e}){let t=$(e.type,y.value),n=(o,r)=>f({...e,conditions:e.conditions.map((l,d)=>d===o?{...l,...r}:l)}),s=()=>f({...e,conditions:[...e.conditions,{attribute:t[0]?.ident??"",operator:"is",value:""}]});return a`
    <fieldset>
      <legend>where
        <select aria-label="How many conditions hold" value=${e.match} onChange=${o=>f({...e,match:g(o)==="any"?"any":"all"})}>
          <option value="all">all conditions hold</option>
          <option value="any">any condition holds</option>
        </select>
      </legend>
      ${e.conditions.map((o,r)=>{let l=R(o.attribute),d=L(l),u=d.find(({name:i})=>i===o.operator)?.takesValue??!0;return a`<div class="row condition" key=${r} role="group" aria-label=${`Condition ${r+1}`}>
          <select aria-label="Attribute" value=${o.attribute} onChange=${i=>n(r,{attribute:g(i),operator:"is",value:""})}>
            ${t.map(({ident:i})=>a`<option key=${i} value=${i}>${m(i)}</option>`)}
          </select>
          <select aria-label="Operator" value=${o.operator} onChange=${i=>n(r,{operator:g(i)})}>
            ${d.map(({name:i})=>a`<option key=${i} value=${i}>${i}</option>`)}
          </select>
          ${u&&a`<${_} label="Value" type=${l?.valueType??void 0} text=${o.value} onChange=${i=>n(r,{value:i})} />`}
          <button type="button" class="quiet small" aria-label=${`Remove condition ${r+1}`} onClick=${()=>f({...e,conditions:e.conditions.filter((i,p)=>p!==r)})}>✕</button>
        </div>`})}
      <button type="button" class="quiet small" onClick=${s}>Add a condition</button>
    </fieldset>
  `}function Z({now:e}){let t=n=>{let s=e.columns.includes(n)?e.columns.filter(o=>o!==n):[...e.columns,n];f({...e,columns:s})};return a`
    <fieldset>
      <legend>show</legend>
      <div class="row">
        ${$(e.type,y.value).map(({ident:n,doc:s})=>a`<label key=${n} title=${s??""}><input type="checkbox" checked=${e.columns.includes(n)} onChange=${()=>t(n)} /> ${m(n)}</label>`)}
      </div>
    </fieldset>
  `}function w({now:e}){return a`
    <div class="row">
      <label>ordered by <select value=${e.order} onChange=${t=>f({...e,order:g(t)})}>
        <option value="">nothing</option>
        ${$(e.type,y.value).map(({ident:t})=>a`<option key=${t} value=${t}>${m(t)}</option>`)}
      </select></label>
      <label><input type="checkbox" checked=${e.isDescending} onChange=${()=>f({...e,isDescending:!e.isDescending})} /> descending</label>
      <label>at most <input type="number" min="1" max="100000" value=${e.limit} onChange=${t=>f({...e,limit:Math.max(1,Math.round(Number(g(t)))||100)})} /> rows</label>
    </div>
  `}function z({now:e}){let[t,n]=T();if(C(()=>{let o=!0,r=l=>{o&&n({type:e.type,typed:l})};return D(e.type).then(r,()=>r(void 0)),()=>{o=!1}},[e.type]),t?.type!==e.type)return null;let s=t.typed&&U(e,y.value,t.typed);return s?a`
    <details>
      <summary>The same in typed GraphQL</summary>
      <pre class="typed-graphql"><code>${s}</code></pre>
      <a href=${`graphql?query=${encodeURIComponent(s)}`}>Open in GraphiQL</a>
    </details>
  `:a`<p class="note">Typed GraphQL cannot say this.</p>`}export{de as Builder};
