import{a as v,b as C,c as Q,e as X,g as D,h as A}from"./part-YEI5FPSD.js";import"./part-APBLB4GF.js";import{a as U}from"./part-NP4RHPSR.js";import"./part-WNXJMTH6.js";import"./part-I5A673K4.js";import"./part-OQ547FIK.js";import{e as z}from"./part-GJOCZJZ7.js";import{a as K}from"./part-E2GJ4IGD.js";import"./part-LJZ7Y7LB.js";import"./part-7VBUNBJ5.js";import{a as k}from"./part-UVVRTPSV.js";import"./part-VWBY6ZJU.js";import"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{a as b}from"./part-SF3TZDU3.js";import{a as o}from"./part-BGX5RPQL.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import{a as E,b as S,c as W}from"./part-C3FHAUT3.js";import"./part-5SBNPJNF.js";import{a as y,e as V,f as Y}from"./part-E36UJHIO.js";import{f as $}from"./part-XTEOP6XV.js";import"./part-ZJ7BM5PU.js";import{e as _}from"./part-VTCKWQW5.js";import{d as p,f as g,h as B,k as j,n as R}from"./part-ST7TEUSA.js";var ue=8,ce='query ($ident: EDN!, $count: EDN!, $samples: EDN!) { pull(pattern: "[*]", eid: $ident) count: q(query: $count) { value } samples: q(query: $samples, timeoutMs: 5000) { rows } }';async function pe(e){let{pull:t,count:n,samples:r}=await $(ce,{ident:e,count:`[:find (count ?e) . :where [?e ${e}]]`,samples:`[:find ?v :where [_ ${e} ?v] :limit ${ue}]`});return{declared:t??{},entities:n.value??0,samples:r.rows}}function q({ident:e}){let[t,n]=p(),[r,i]=p(),s=V(e);if(g(()=>{pe(e).then(n,i)},[e]),s===void 0)return o`<p class="note">There is no attribute ${e}.</p>`;let c=`[:find ?e ?v
 :where [?e ${e} ?v]
 :limit 1000]`;return o`
    <div class="stack">
      ${s.doc&&o`<p>${s.doc}</p>`}
      <dl class="facts">
        <dt>Type</dt><dd>${s.valueType??"not yet: the first value decides"}</dd>
        <dt>Cardinality</dt><dd>${s.cardinality}</dd>
        ${s.unique&&o`<dt>Unique</dt><dd>${s.unique}</dd>`}
        ${s.isComponent&&o`<dt>Component</dt><dd>what it refers to is a part of the whole</dd>`}
        <dt>Datoms</dt><dd class="number">${Number(s.datomCount).toLocaleString()}</dd>
        <dt>Entities</dt><dd class="number">${t?t.entities.toLocaleString():"\u2026"}</dd>
        ${me(t?.declared??{}).map(([d,l])=>o`<dt key=${d}>${d}</dt><dd>${typeof l=="object"?JSON.stringify(l):String(l)}</dd>`)}
      </dl>
      <${b} error=${r} />
      <section aria-label="Sample values" aria-busy=${t===void 0&&r===void 0}>
        <h3>Sample values</h3>
        ${t&&(t.samples.length===0?o`<p class="note">There is no value that you may see.</p>`:o`<ul class="values">${t.samples.map(([d],l)=>o`<li key=${l}><${z} value=${d} type=${s.valueType??void 0} /></li>`)}</ul>`)}
      </section>
      <p class="row">
        <a href=${S("ask",{query:c})}>Show values</a>
        <a href=${S("schema",{view:"declare",attribute:e})}>Alter</a>
      </p>
    </div>
  `}function me(e){let t=new Set([":db/id",":db/ident",":db/valueType",":db/cardinality",":db/unique",":db/isComponent",":db/doc"]);return Object.entries(e).filter(([n])=>!t.has(n))}var N=R(""),M=R(!1);function Z(){let e=N.value.toLowerCase().split(/\s+/).filter(Boolean),t=y.value.filter(r=>(M.value||!v(r.ident))&&e.every(i=>fe(r).includes(i))),n=X(t);return o`
    <form class="row" role="search" aria-label="Attributes" onSubmit=${r=>r.preventDefault()}>
      <label>Search <input type="search" value=${N.value} onInput=${r=>N.value=r.target.value} autocomplete="off" /></label>
      <label><input type="checkbox" checked=${M.value} onChange=${r=>M.value=r.target.checked} /> Built-in ones, too</label>
    </form>
    <p class="note" role="status">${t.length.toLocaleString()} ${t.length===1?"attribute":"attributes"} in ${n.size.toLocaleString()} ${n.size===1?"namespace":"namespaces"}.</p>
    ${[...n].map(([r,i])=>o`<${$e} key=${r} name=${r} attributes=${i} />`)}
  `}function fe({ident:e,valueType:t,unique:n,doc:r}){return`${e} ${t??""} ${n??""} ${r??""}`.toLowerCase()}function $e({name:e,attributes:t}){return o`
    <details class="namespace" open>
      <summary><h2>${e||"without a namespace"}</h2> <span class="note">${t.length}</span></summary>
      <div class="changes" role="region" tabindex="0" aria-label=${`Attributes of ${e||"no namespace"}`}>
        <table>
          <thead>
            <tr><th scope="col">Attribute</th><th scope="col">Type</th><th scope="col">Cardinality</th><th scope="col">Datoms</th><th scope="col">Documentation</th></tr>
          </thead>
          <tbody>
            ${t.map(n=>o`
                <tr key=${n.ident}>
                  <td><button type="button" class="ref" aria-label=${n.ident} onClick=${()=>k(n.ident,q,{ident:n.ident})}>${Q(n.ident)}</button></td>
                  <td>${n.valueType??o`<span class="nil">not yet</span>`}</td>
                  <td>${[n.cardinality,n.unique&&`unique ${n.unique}`,n.isComponent&&"component"].filter(Boolean).join(", ")}</td>
                  <td class="number">${Number(n.datomCount).toLocaleString()}</td>
                  <td>${n.doc}</td>
                </tr>
              `)}
          </tbody>
        </table>
      </div>
    </details>
  `}var ee=["string","long","double","boolean","keyword","instant","uuid","bigdec","ref","bigint","float","symbol","uri","bytes","duration","tuple"],I={ident:"",valueType:"string",cardinality:"one",unique:"",component:!1,index:!1,noHistory:!1,doc:"",tupleAttrs:"",tupleTypes:""},ye='query ($ident: EDN!) { pull(pattern: "[* {:db/valueType [:db/ident] :db/cardinality [:db/ident] :db/unique [:db/ident]}]", eid: $ident) }';async function te(e){let{pull:t}=await $(ye,{ident:e}),n=i=>{let s=t?.[i]?.[":db/ident"];return typeof s=="string"?s.replace(/^.*\//,""):""},r=i=>{let s=t?.[i];return Array.isArray(s)?`[${s.map(String).join(" ")}]`:""};return{ident:e,valueType:n(":db/valueType"),cardinality:n(":db/cardinality")||"one",unique:n(":db/unique"),component:t?.[":db/isComponent"]===!0,index:t?.[":db/index"]===!0,noHistory:t?.[":db/noHistory"]===!0,doc:typeof t?.[":db/doc"]=="string"?t[":db/doc"]:"",tupleAttrs:r(":db/tupleAttrs"),tupleTypes:r(":db/tupleTypes")}}var O={valueType:e=>[":db/valueType",`:db.type/${e}`],cardinality:e=>[":db/cardinality",`:db.cardinality/${e}`],unique:e=>[":db/unique",`:db.unique/${e}`],component:e=>[":db/isComponent",String(e)],index:e=>[":db/index",String(e)],noHistory:e=>[":db/noHistory",String(e)],doc:e=>[":db/doc",JSON.stringify(e)],tupleAttrs:e=>[":db/tupleAttrs",String(e)],tupleTypes:e=>[":db/tupleTypes",String(e)]};function J(e,t){let n=Object.keys(O),r=t??{...I,valueType:"",cardinality:""},i=n.filter(a=>e[a]!==r[a]),s=i.filter(a=>e[a]!==""),c=s.map(a=>O[a](e[a]).join(" ")),d=i.filter(a=>e[a]==="").map(a=>({part:a,text:`[:db/retract ${e.ident} ${O[a](r[a]).join(" ")}]`})),l=c.length>0||t===void 0?[`{${[`:db/ident ${e.ident}`,...c].join(`
  `)}}`]:[];return{text:`[${[...l,...d.map(({text:a})=>a)].join(`
 `)}]`,lines:[...l.length>0?["ident",...s]:[],...d.map(({part:a})=>a)]}}function ne(){let e=E.value.parameters.get("attribute"),t=y.value.filter(n=>!v(n.ident));return o`
    <label>
      Attribute
      <select value=${e??""} onChange=${n=>W("schema",{view:"declare",attribute:n.target.value})}>
        <option value="">a new one</option>
        ${t.map(n=>o`<option key=${n.ident} value=${n.ident}>${n.ident}</option>`)}
      </select>
    </label>
    <${be} key=${e} ident=${e} />
  `}function be({ident:e}){let[t]=p(()=>new A),[n,r]=p(),[i,s]=p(I),[c,d]=p(),l=t.committed.value;g(()=>{e!==null&&te(e).then(u=>{r(u),s(u)},d)},[e,l]);let{text:a,lines:m}=J(i,n),T=(u,de)=>{let G={...i,[u]:de};s(G),t.text.value=J(G,n).text},P=u=>{u.preventDefault(),t.text.value=a,t.dryRun()};if(e!==null&&n===void 0)return c?o`<${b} error=${c} />`:o`<p class="note" role="status">Loading…</p>`;let x=t.failure.value,le=x instanceof _&&x.line!==void 0&&t.refused.value===a?{part:m[x.line-1],message:x.message}:void 0,f={now:i,set:T,wrong:le};return o`
    <form class="declare stack" aria-label=${e===null?"A new attribute":`Alter ${e}`} onSubmit=${P}>
      <div class="fields">
        <${h} ...${f} part="ident" label="Ident" input=${u=>o`<input ...${u} required pattern=":.+" placeholder=":person/name" disabled=${e!==null} autocomplete="off" spellcheck=${!1} />`} />
        <${h} ...${f} part="valueType" label="Type" input=${u=>F(u,i.valueType,["",...ee],"the first value decides")} />
        <${h} ...${f} part="cardinality" label="Cardinality" input=${u=>F(u,i.cardinality,["one","many"])} />
        <${h} ...${f} part="unique" label="Unique" input=${u=>F(u,i.unique,["","identity","value"],"no")} />
        <${h} ...${f} part="doc" label="Documentation" input=${u=>o`<textarea ...${u} rows="2"></textarea>`} />
        ${i.valueType==="tuple"&&o`
          <${h} ...${f} part="tupleAttrs" label="Attributes of the tuple" input=${u=>o`<input ...${u} placeholder="[:order/year :order/number]" />`} />
          <${h} ...${f} part="tupleTypes" label="Types of the tuple" input=${u=>o`<input ...${u} placeholder="[:db.type/long :db.type/string]" />`} />
        `}
      </div>
      <div class="row">
        <${L} ...${f} part="component" label="Component: what it refers to is a part" />
        <${L} ...${f} part="index" label="Index" />
        <${L} ...${f} part="noHistory" label="Without history" />
      </div>
      <pre class="wrapped code" tabindex="0" role="region" aria-label="Transaction"><code>${a}</code></pre>
      <div class="row"><button type="submit">Dry run</button></div>
    </form>
    <${D} trial=${t} />
  `}function h({part:e,label:t,now:n,set:r,wrong:i,input:s}){let c=j(),d=i?.part===e?i.message:void 0,l={id:c,value:n[e],"aria-invalid":d!==void 0,"aria-describedby":d===void 0?void 0:`${c}-error`,onInput:a=>r(e,a.target.value)};return o`
    <div class="declared">
      <label for=${c}>${t}</label>
      ${s(l)}
      ${d!==void 0&&o`<span class="error" id=${`${c}-error`}>${d}</span>`}
    </div>
  `}function L({part:e,label:t,now:n,set:r,wrong:i}){return o`
    <label><input type="checkbox" checked=${n[e]===!0} onChange=${s=>r(e,s.target.checked)} /> ${t}</label>
    ${i?.part===e&&o`<span class="error">${i.message}</span>`}
  `}function F(e,t,n,r=""){return o`<select ...${e} onChange=${e.onInput}>${n.map(i=>o`<option key=${i} value=${i} selected=${i===t}>${i||r}</option>`)}</select>`}var w=new A,ge=async()=>(await import("./part-YDBANSTK.js")).underlining(w),re=()=>{w.dryRun()};function oe(){let[e,t]=p(),[n,r]=p(!1),i=async()=>{r(!0),t(void 0);try{w.write((await $("{ schemaProposal }")).schemaProposal)}catch(s){t(s)}finally{r(!1)}};return o`
    <p class="note">
      Typed GraphQL follows declarations as <code>:graphql/type</code>. What the data suggest is written here as a transaction, for you to read and
      edit.
    </p>
    <div class="row">
      <button type="button" class="quiet" disabled=${n} onClick=${()=>{i()}}>${n?"Reading the data\u2026":"Propose"}</button>
    </div>
    <${b} error=${e} />
    ${w.text.value!==""&&o`
      <${U} label="Proposal" text=${w.text} onRun=${re} extensions=${ge} />
      <div class="row"><button type="button" onClick=${re} title="Ctrl-Enter">Dry run</button></div>
    `}
    <${D} trial=${w} />
  `}var ve=100,he=20,we="query ($query: EDN!, $args: [JSON!]) { q(query: $query, args: $args, timeoutMs: 10000) { rows } }",Te="[:find ?e ?name :in $ [?e ...] :where [?e ?a] [?a :db/ident ?name]]",Se="[:find ?e ?name :in $ [?e ...] :where [?e :db/ident ?name]]";async function H(e,t=[]){return(await $(we,{query:e,args:t})).q.rows}async function ae(){let e=y.value.filter(({ident:l,valueType:a,datomCount:m})=>a==="ref"&&m!==0&&!v(l)).slice(0,ve),t=await Promise.all(e.map(async({ident:l})=>({ident:l,targets:(await H(`[:find ?v :where [_ ${l} ?v] :limit ${he}]`)).map(([a])=>String(a))}))),n=[...new Set(t.flatMap(l=>l.targets))].map(Number);if(n.length===0)return[];let[r,i]=await Promise.all([H(Te,[n]),H(Se,[n])]),s=new Map,c=(l,a)=>{let m=String(a);v(m)||s.set(String(l),(s.get(String(l))??new Set).add(C(m)))};for(let[l,a]of[...r,...i])c(l,a);return t.flatMap(({ident:l,targets:a})=>[...new Set(a.flatMap(m=>[...s.get(m)??[]]))].map(m=>({from:C(l),to:m,label:l})))}function ie(){let e=B(null),[t,n]=p(),[r,i]=p(),s=y.value.length>0;g(()=>{s&&ae().then(n,i)},[s]);let c=d=>k(d,q,{ident:d});return g(()=>{if(!t||t.length===0)return;let d=new AbortController;return import("./part-7C7WXICD.js").then(({draw:l})=>{if(d.signal.aborted||!e.current)return;let a=l(e.current,()=>{}),m=[...new Set(t.flatMap(({from:T,to:P})=>[T,P]))];a.show({nodes:m,edges:t,total:m.length},T=>T),d.signal.addEventListener("abort",()=>a.remove())},i),()=>d.abort()},[t,K.value]),o`
    <${b} error=${r} />
    <p class="note" role="status">
      ${t===void 0?r?"":"Reading a sample of each ref\u2026":t.length===0?"No ref has a value.":`${t.length} references between namespaces, by a sample of the values of each ref.`}
    </p>
    ${t!==void 0&&t.length>0&&o`
      <div class="graph-host references" ref=${e} role="img" aria-label="Graph of the references between namespaces. The table below has the same ones."></div>
      <div class="changes" role="region" tabindex="0" aria-label="References">
        <table>
          <thead><tr><th scope="col">From</th><th scope="col">By</th><th scope="col">To</th></tr></thead>
          <tbody>
            ${t.map(({from:d,to:l,label:a})=>o`<tr key=${`${a} ${l}`}><td>${d}</td><td><button type="button" class="ref" onClick=${()=>c(a)}>${a}</button></td><td>${l}</td></tr>`)}
          </tbody>
        </table>
      </div>
    `}
  `}var se=[{name:"attributes",title:"Attributes",component:Z,forAdmins:!1},{name:"references",title:"References",component:ie,forAdmins:!1},{name:"declare",title:"Declare",component:ne,forAdmins:!1},{name:"proposals",title:"Proposals",component:oe,forAdmins:!0}];function kt(){let e=E.value.parameters.get("view"),t=se.filter(({forAdmins:r})=>!r||Y()),n=t.find(r=>r.name===e)??t[0]??se[0];return o`
    <div class="row">
      <h1>Schema</h1>
      <nav class="ways" aria-label="Views of the schema">
        ${t.map(r=>o`<a key=${r.name} href=${S("schema",{view:r.name})} aria-current=${r===n?"true":void 0}>${r.title}</a>`)}
      </nav>
    </div>
    <${n.component} />
  `}export{kt as Schema};
