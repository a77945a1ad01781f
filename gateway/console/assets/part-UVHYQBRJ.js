import{a as S}from"./part-R3KBAFXE.js";import{g as j,i as w,k as _}from"./part-LV57CMH5.js";import"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{a as u}from"./part-H5APD4YT.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import"./part-56TO7VDT.js";import"./part-7PNDONP5.js";import{a as $,e as q}from"./part-MYFEB7IN.js";import{f as A}from"./part-TSUFEJYE.js";import"./part-R45ROGHT.js";import"./part-VTCKWQW5.js";import{d as E,f as x,m as R}from"./part-RZWRK72K.js";var v=e=>({name:e,takesValue:!0}),G=[v("is"),v("is not")],H=[{name:"has a value",takesValue:!1},{name:"has none",takesValue:!1}],J=["<","\u2264",">","\u2265"].map(v),P=["contains","starts with","ends with"].map(v),Z=new Set(["long","bigint","double","float","bigdec","instant"]);function T(e){let n=e?.valueType??"";return[...G,...n==="string"?P:[],...Z.has(n)?J:[],...H]}var X=/^:(db|graphql|policy|console|fressian)([./]|$)/;function N(e){let n=e.filter(({ident:t})=>!X.test(t)&&t.includes("/")).map(({ident:t})=>D(t));return[...new Set(n)].sort()}function f(e,n){return n.filter(({ident:t})=>D(t)===e)}function D(e){return e.slice(1,e.indexOf("/"))}function y(e){return e.slice(e.indexOf("/")+1)}function L(e,n){let t=f(e,n),r=h(t),o=[...r?[r]:[],...t.filter(i=>i!==r)].slice(0,3);return{type:e,match:"all",conditions:[],columns:o.map(({ident:i})=>i),order:"",isDescending:!1,limit:100}}function h(e){return e.find(({unique:n})=>n?.endsWith("identity"))}function O({conditions:e},n){return e.filter(({attribute:t,operator:r,value:o})=>{let i=T(n.find(({ident:a})=>a===t)).find(({name:a})=>a===r);return i!==void 0&&(!i.takesValue||o.trim()!==""&&o!=="_")})}var Y={"<":"<","\u2264":"<=",">":">","\u2265":">="},K={contains:"includes?","starts with":"starts-with?","ends with":"ends-with?"};function M(e,n){let t=f(e.type,n),r=I(e.type),o=new Map(e.columns.map(l=>[l,I(y(l))]));for(let[l,g]of o)g===r&&o.set(l,`${g}-value`);let i=h(t),a=[];i?a.push(`[${r} ${i.ident} ${o.get(i.ident)??"_"}]`):a.push(`(or ${t.map(({ident:l})=>`[${r} ${l} _]`).join(" ")})`),a.push(...ee(e,n,r));let d=[...o].filter(([l])=>l!==i?.ident);a.push(...d.map(([l,g])=>`(optional [${r} ${l} ${g}])`));let c=o.size>0?[...o.values()]:[r],s=o.get(e.order);e.order&&s===void 0&&(s="?order",a.push(`(optional [${r} ${e.order} ?order])`));let p=[`[:find ${c.join(" ")}`,` :where ${a.join(`
        `)}`];return s&&p.push(` :order-by [${e.isDescending?`[${s} :desc]`:s}]`),p.push(` :limit ${e.limit}]`),p.join(`
`)}function ee(e,n,t){let r=O(e,n).map((i,a)=>ne(i,t,`?value-${a+1}`));if(e.match==="all"||r.length<2)return r.flat();let o=r.map(i=>i.length>1?`(and ${i.join(" ")})`:i[0]??"");return[`(or-join [${t}] ${o.join(`
          `)})`]}function ne({attribute:e,operator:n,value:t},r,o){let i=`[${r} ${e} ${o}]`;return n==="is"?[`[${r} ${e} ${t}]`]:n==="is not"?[`(not [${r} ${e} ${t}])`]:n==="has a value"?[`[${r} ${e} _]`]:n==="has none"?[`(not [${r} ${e} _])`]:[i,`[(${Y[n]??K[n]} ${o} ${t})]`]}function I(e){return`?${e.replace(/[^\w.*+!-]/g,"-")}`}var F="kind name ofType { kind name ofType { kind name ofType { kind name } } }",te=`query ($name: String!) { __type(name: $name) { fields { name type { ${F} } } } query: __type(name: "Query") { fields { name type { ${F} } } } }`;async function U(e){let n=e.split(/[^A-Za-z0-9]+/).map(i=>i.slice(0,1).toUpperCase()+i.slice(1)).join(""),t=await A(te,{name:n}),r=t.query?.fields.find(({type:i})=>k(i)&&C(i).name===n)?.name;if(t.__type===null||r===void 0)return;let o=t.__type.fields.map(i=>{let{kind:a}=C(i.type);return[i.name,{isObject:["OBJECT","INTERFACE","UNION"].includes(a),isEnum:a==="ENUM",isList:k(i.type)}]});return{list:r,fields:new Map(o)}}function C(e){return e.ofType?C(e.ofType):e}function k(e){return e.kind==="LIST"||(e.ofType?k(e.ofType):!1)}var ie={is:"eq","<":"lt","\u2264":"lte",">":"gt","\u2265":"gte",contains:"contains","starts with":"startsWith","ends with":"endsWith"};function B(e,n,{list:t,fields:r}){let o=p=>{let l=Q(y(p));return r.has(l)?l:void 0},i=e.columns.map(p=>{let l=o(p);return l===void 0?void 0:r.get(l)?.isObject?`${l} { id }`:l}),a=O(e,n).map(p=>oe(p,n,o(p.attribute),r)),d=e.order?o(e.order):"";if(i.includes(void 0)||a.includes(void 0)||d===void 0||h(f(e.type,n))===void 0)return;let c=a.length===0?"":a.length===1?a[0]:`{${e.match==="all"?"and":"or"}: [${a.join(", ")}]}`,s=[c&&`where: ${c}`,d&&`orderBy: [{${d}: ${e.isDescending?"DESC":"ASC"}}]`,`first: ${e.limit}`].filter(Boolean);return`{
  ${t}(${s.join(", ")}) {
    ${["id",...i].join(`
    `)}
  }
}`}function oe({attribute:e,operator:n,value:t},r,o,i){let a=r.find(({ident:s})=>s===e),d=o===void 0?void 0:i.get(o);if(d===void 0||d.isList||d.isEnum)return;if(n==="has a value"||n==="has none"){let s=n==="has none";return d.isObject?`{${o}IsNull: ${s}}`:`{${o}: {isNull: ${s}}}`}let c;if(d.isObject){let[s,p=""]=j(t)??[],l=r.find(({ident:z})=>z===s)?.valueType,g=s?V(p,l):void 0;c=s&&g?`{${Q(y(s))}: {eq: ${g}}}`:/^\d+$/.test(t)?`{id: {eq: "${t}"}}`:void 0}else{let s=V(t,a?.valueType);c=s&&`{${ie[n]??"eq"}: ${s}}`}if(c)return n==="is not"?`{not: {${o}: ${c}}}`:`{${o}: ${c}}`}function V(e,n){let t=w(e,n??void 0);if(t!==void 0)return["long","double","float","boolean"].includes(n??"")?t:n==="instant"?JSON.stringify(`${t}Z`):["string","uuid","keyword"].includes(n??"")?JSON.stringify(t):void 0}function Q(e){return e.replace(/[^A-Za-z0-9]+(.)/g,(n,t)=>t.toUpperCase())}var W=R(void 0);function m(e){W.value=e,_.value=M(e,$.value)}var b=e=>e.target.value;function Ee(){let e=W.value,n=N($.value);return u`
    <section class="builder" aria-label="Builder">
      <label>Find every <select aria-label="Type" value=${e?.type??""} onChange=${t=>m(L(b(t),$.value))}>
        ${!e&&u`<option value="">choose a type</option>`}
        ${n.map(t=>u`<option key=${t} value=${t}>${t}</option>`)}
      </select></label>
      ${e&&u`<${re} now=${e} /><${se} now=${e} /><${ae} now=${e} /><${le} now=${e} />`}
    </section>
  `}function re({now:e}){let n=f(e.type,$.value),t=(o,i)=>m({...e,conditions:e.conditions.map((a,d)=>d===o?{...a,...i}:a)}),r=()=>m({...e,conditions:[...e.conditions,{attribute:n[0]?.ident??"",operator:"is",value:""}]});return u`
    <fieldset>
      <legend>where
        <select aria-label="How many conditions hold" value=${e.match} onChange=${o=>m({...e,match:b(o)==="any"?"any":"all"})}>
          <option value="all">all conditions hold</option>
          <option value="any">any condition holds</option>
        </select>
      </legend>
      ${e.conditions.map((o,i)=>{let a=q(o.attribute),d=T(a),c=d.find(({name:s})=>s===o.operator)?.takesValue??!0;return u`<div class="row condition" key=${i} role="group" aria-label=${`Condition ${i+1}`}>
          <select aria-label="Attribute" value=${o.attribute} onChange=${s=>t(i,{attribute:b(s),operator:"is",value:""})}>
            ${n.map(({ident:s})=>u`<option key=${s} value=${s}>${y(s)}</option>`)}
          </select>
          <select aria-label="Operator" value=${o.operator} onChange=${s=>t(i,{operator:b(s)})}>
            ${d.map(({name:s})=>u`<option key=${s} value=${s}>${s}</option>`)}
          </select>
          ${c&&u`<${S} label="Value" type=${a?.valueType??void 0} text=${o.value} onChange=${s=>t(i,{value:s})} />`}
          <button type="button" class="quiet small" aria-label=${`Remove condition ${i+1}`} onClick=${()=>m({...e,conditions:e.conditions.filter((s,p)=>p!==i)})}>✕</button>
        </div>`})}
      <button type="button" class="quiet small" onClick=${r}>Add a condition</button>
    </fieldset>
  `}function se({now:e}){let n=t=>{let r=e.columns.includes(t)?e.columns.filter(o=>o!==t):[...e.columns,t];m({...e,columns:r})};return u`
    <fieldset>
      <legend>show</legend>
      <div class="row">
        ${f(e.type,$.value).map(({ident:t,doc:r})=>u`<label key=${t} title=${r??""}><input type="checkbox" checked=${e.columns.includes(t)} onChange=${()=>n(t)} /> ${y(t)}</label>`)}
      </div>
    </fieldset>
  `}function ae({now:e}){return u`
    <div class="row">
      <label>ordered by <select value=${e.order} onChange=${n=>m({...e,order:b(n)})}>
        <option value="">nothing</option>
        ${f(e.type,$.value).map(({ident:n})=>u`<option key=${n} value=${n}>${y(n)}</option>`)}
      </select></label>
      <label><input type="checkbox" checked=${e.isDescending} onChange=${()=>m({...e,isDescending:!e.isDescending})} /> descending</label>
      <label>at most <input type="number" min="1" max="100000" value=${e.limit} onChange=${n=>m({...e,limit:Math.max(1,Math.round(Number(b(n)))||100)})} /> rows</label>
    </div>
  `}function le({now:e}){let[n,t]=E();if(x(()=>{let o=!0,i=a=>{o&&t({type:e.type,typed:a})};return U(e.type).then(i,()=>i(void 0)),()=>{o=!1}},[e.type]),n?.type!==e.type)return null;let r=n.typed&&B(e,$.value,n.typed);return r?u`
    <details>
      <summary>The same in typed GraphQL</summary>
      <pre class="typed-graphql"><code>${r}</code></pre>
      <a href=${`graphql?query=${encodeURIComponent(r)}`}>Open in GraphiQL</a>
    </details>
  `:u`<p class="note">Typed GraphQL cannot say this.</p>`}export{Ee as Builder};
