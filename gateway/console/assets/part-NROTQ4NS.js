import{a as $,b as R,c as X,e as Z,g as k,h as E}from"./part-YEI5FPSD.js";import"./part-APBLB4GF.js";import{a as _}from"./part-NP4RHPSR.js";import"./part-WNXJMTH6.js";import"./part-I5A673K4.js";import"./part-OQ547FIK.js";import{e as K}from"./part-GJOCZJZ7.js";import{a as Q}from"./part-E2GJ4IGD.js";import"./part-LJZ7Y7LB.js";import"./part-7VBUNBJ5.js";import{a as A}from"./part-UVVRTPSV.js";import"./part-VWBY6ZJU.js";import"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{a as v}from"./part-SF3TZDU3.js";import{a}from"./part-BGX5RPQL.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import{a as x,b as S,c as z}from"./part-C3FHAUT3.js";import"./part-5SBNPJNF.js";import{a as g,e as Y,f as W}from"./part-E36UJHIO.js";import{f as b}from"./part-XTEOP6XV.js";import"./part-ZJ7BM5PU.js";import{e as V}from"./part-VTCKWQW5.js";import{d as m,f as h,h as j,k as U,n as N}from"./part-ST7TEUSA.js";var me=8,fe='query ($ident: EDN!, $count: EDN!, $samples: EDN!) { pull(pattern: "[*]", eid: $ident) retention: pull(pattern: "[*]", eid: ":db/retention") count: q(query: $count) { value } samples: q(query: $samples, timeoutMs: 5000) { rows } }';async function $e(e){let{pull:t,retention:n,count:r,samples:o}=await b(fe,{ident:e,count:`[:find (count ?e) . :where [?e ${e}]]`,samples:`[:find ?v :where [_ ${e} ?v] :limit ${me}]`});return{declared:t??{},retention:n??{},entities:r.value??0,samples:o.rows}}function P({ident:e}){let[t,n]=m(),[r,o]=m(),i=Y(e);if(h(()=>{$e(e).then(n,o)},[e]),i===void 0)return a`<p class="note">There is no attribute ${e}.</p>`;let u=t&&ye(t.declared,t.retention,e),c=`[:find ?e ?v
 :where [?e ${e} ?v]
 :limit 1000]`;return a`
    <div class="stack">
      ${i.doc&&a`<p>${i.doc}</p>`}
      <dl class="facts">
        <dt>Type</dt><dd>${i.valueType??"not yet: the first value decides"}</dd>
        <dt>Cardinality</dt><dd>${i.cardinality}</dd>
        ${i.unique&&a`<dt>Unique</dt><dd>${i.unique}</dd>`}
        ${i.isComponent&&a`<dt>Component</dt><dd>what it refers to is a part of the whole</dd>`}
        <dt>Datoms</dt><dd class="number">${Number(i.datomCount).toLocaleString()}</dd>
        <dt>Entities</dt><dd class="number">${t?t.entities.toLocaleString():"\u2026"}</dd>
        ${u!==void 0&&a`<dt>Past</dt><dd>${u}</dd>`}
        ${be(t?.declared??{}).map(([s,d])=>a`<dt key=${s}>${s}</dt><dd>${typeof d=="object"?JSON.stringify(d):String(d)}</dd>`)}
      </dl>
      <${v} error=${r} />
      <section aria-label="Sample values" aria-busy=${t===void 0&&r===void 0}>
        <h3>Sample values</h3>
        ${t&&(t.samples.length===0?a`<p class="note">There is no value that you may see.</p>`:a`<ul class="values">${t.samples.map(([s],d)=>a`<li key=${d}><${K} value=${s} type=${i.valueType??void 0} /></li>`)}</ul>`)}
      </section>
      <p class="row">
        <a href=${S("ask",{query:c})}>Show values</a>
        <a href=${S("schema",{view:"declare",attribute:e})}>Alter</a>
      </p>
    </div>
  `}var M=[":db/retainDays",":db/retainTransactions",":db/retainAll"];function ye(e,t,n){if(e[":db/noHistory"]===!0)return"none is shown (:db/noHistory)";let r=M.some(s=>s in e),[o,i,u]=M.map(s=>(r?e:$(n)?{}:t)[s]),c=r?"":" (:db/retention)";return typeof o=="number"?`${ee(o,"day")}${c}`:typeof i=="number"?`${ee(i,"transaction")}${c}`:u===!0?`all of it${c}`:void 0}function ee(e,t){return`kept for ${e.toLocaleString()} ${e===1?t:`${t}s`}`}function be(e){let t=new Set([":db/id",":db/ident",":db/valueType",":db/cardinality",":db/unique",":db/isComponent",":db/doc",":db/noHistory",...M]);return Object.entries(e).filter(([n])=>!t.has(n))}var I=N(""),O=N(!1);function te(){let e=I.value.toLowerCase().split(/\s+/).filter(Boolean),t=g.value.filter(r=>(O.value||!$(r.ident))&&e.every(o=>ge(r).includes(o))),n=Z(t);return a`
    <form class="row" role="search" aria-label="Attributes" onSubmit=${r=>r.preventDefault()}>
      <label>Search <input type="search" value=${I.value} onInput=${r=>I.value=r.target.value} autocomplete="off" /></label>
      <label><input type="checkbox" checked=${O.value} onChange=${r=>O.value=r.target.checked} /> Built-in ones, too</label>
    </form>
    <p class="note" role="status">${t.length.toLocaleString()} ${t.length===1?"attribute":"attributes"} in ${n.size.toLocaleString()} ${n.size===1?"namespace":"namespaces"}.</p>
    ${[...n].map(([r,o])=>a`<${ve} key=${r} name=${r} attributes=${o} />`)}
  `}function ge({ident:e,valueType:t,unique:n,doc:r}){return`${e} ${t??""} ${n??""} ${r??""}`.toLowerCase()}function ve({name:e,attributes:t}){return a`
    <details class="namespace" open>
      <summary><h2>${e||"without a namespace"}</h2> <span class="note">${t.length}</span></summary>
      <div class="changes" role="region" tabindex="0" aria-label=${`Attributes of ${e||"no namespace"}`}>
        <table>
          <thead>
            <tr><th scope="col">Attribute</th><th scope="col">Type</th><th scope="col">Cardinality</th><th scope="col">Datoms</th><th scope="col">Documentation</th></tr>
          </thead>
          <tbody>
            ${t.map(n=>a`
                <tr key=${n.ident}>
                  <td><button type="button" class="ref" aria-label=${n.ident} onClick=${()=>A(n.ident,P,{ident:n.ident})}>${X(n.ident)}</button></td>
                  <td>${n.valueType??a`<span class="nil">not yet</span>`}</td>
                  <td>${[n.cardinality,n.unique&&`unique ${n.unique}`,n.isComponent&&"component"].filter(Boolean).join(", ")}</td>
                  <td class="number">${Number(n.datomCount).toLocaleString()}</td>
                  <td>${n.doc}</td>
                </tr>
              `)}
          </tbody>
        </table>
      </div>
    </details>
  `}var ne=["string","long","double","boolean","keyword","instant","uuid","bigdec","ref","bigint","float","symbol","uri","bytes","duration","tuple"],H={ident:"",valueType:"string",cardinality:"one",unique:"",component:!1,index:!1,noHistory:!1,retainDays:"",retainTransactions:"",retainAll:!1,doc:"",tupleAttrs:"",tupleTypes:""},he='query ($ident: EDN!) { pull(pattern: "[* {:db/valueType [:db/ident] :db/cardinality [:db/ident] :db/unique [:db/ident]}]", eid: $ident) }';async function re(e){let{pull:t}=await b(he,{ident:e}),n=i=>{let u=t?.[i]?.[":db/ident"];return typeof u=="string"?u.replace(/^.*\//,""):""},r=i=>{let u=t?.[i];return Array.isArray(u)?`[${u.map(String).join(" ")}]`:""},o=i=>String(t?.[i]??"");return{ident:e,valueType:n(":db/valueType"),cardinality:n(":db/cardinality")||"one",unique:n(":db/unique"),component:t?.[":db/isComponent"]===!0,index:t?.[":db/index"]===!0,noHistory:t?.[":db/noHistory"]===!0,retainDays:o(":db/retainDays"),retainTransactions:o(":db/retainTransactions"),retainAll:t?.[":db/retainAll"]===!0,doc:typeof t?.[":db/doc"]=="string"?t[":db/doc"]:"",tupleAttrs:r(":db/tupleAttrs"),tupleTypes:r(":db/tupleTypes")}}var L={valueType:e=>[":db/valueType",`:db.type/${e}`],cardinality:e=>[":db/cardinality",`:db.cardinality/${e}`],unique:e=>[":db/unique",`:db.unique/${e}`],component:e=>[":db/isComponent",String(e)],index:e=>[":db/index",String(e)],noHistory:e=>[":db/noHistory",String(e)],retainDays:e=>[":db/retainDays",String(e)],retainTransactions:e=>[":db/retainTransactions",String(e)],retainAll:e=>[":db/retainAll",String(e)],doc:e=>[":db/doc",JSON.stringify(e)],tupleAttrs:e=>[":db/tupleAttrs",String(e)],tupleTypes:e=>[":db/tupleTypes",String(e)]};function G(e,t){let n=Object.keys(L),r=t??{...H,valueType:"",cardinality:""},o=n.filter(l=>e[l]!==r[l]),i=l=>e[l]!==""&&(l!=="retainAll"||e[l]===!0),u=o.filter(i),c=u.map(l=>L[l](e[l]).join(" ")),s=o.filter(l=>!i(l)).map(l=>({part:l,text:`[:db/retract ${e.ident} ${L[l](r[l]).join(" ")}]`})),d=c.length>0||t===void 0?[`{${[`:db/ident ${e.ident}`,...c].join(`
  `)}}`]:[];return{text:`[${[...d,...s.map(({text:l})=>l)].join(`
 `)}]`,lines:[...d.length>0?["ident",...u]:[],...s.map(({part:l})=>l)]}}function oe(){let e=x.value.parameters.get("attribute"),t=g.value.filter(n=>!$(n.ident));return a`
    <label>
      Attribute
      <select value=${e??""} onChange=${n=>z("schema",{view:"declare",attribute:n.target.value})}>
        <option value="">a new one</option>
        ${t.map(n=>a`<option key=${n.ident} value=${n.ident}>${n.ident}</option>`)}
      </select>
    </label>
    <${we} key=${e} ident=${e} />
  `}function we({ident:e}){let[t]=m(()=>new E),[n,r]=m(),[o,i]=m(H),[u,c]=m(),s=t.committed.value;h(()=>{e!==null&&re(e).then(p=>{r(p),i(p)},c)},[e,s]);let{text:d,lines:l}=G(o,n),T=(p,pe)=>{let B={...o,[p]:pe};i(B),t.text.value=G(B,n).text},C=p=>{p.preventDefault(),t.text.value=d,t.dryRun()};if(e!==null&&n===void 0)return u?a`<${v} error=${u} />`:a`<p class="note" role="status">Loading…</p>`;let D=t.failure.value,ce=D instanceof V&&D.line!==void 0&&t.refused.value===d?{part:l[D.line-1],message:D.message}:void 0,f={now:o,set:T,wrong:ce};return a`
    <form class="declare stack" aria-label=${e===null?"A new attribute":`Alter ${e}`} onSubmit=${C}>
      <div class="fields">
        <${y} ...${f} part="ident" label="Ident" input=${p=>a`<input ...${p} required pattern=":.+" placeholder=":person/name" disabled=${e!==null} autocomplete="off" spellcheck=${!1} />`} />
        <${y} ...${f} part="valueType" label="Type" input=${p=>J(p,o.valueType,["",...ne],"the first value decides")} />
        <${y} ...${f} part="cardinality" label="Cardinality" input=${p=>J(p,o.cardinality,["one","many"])} />
        <${y} ...${f} part="unique" label="Unique" input=${p=>J(p,o.unique,["","identity","value"],"no")} />
        <${y} ...${f} part="doc" label="Documentation" input=${p=>a`<textarea ...${p} rows="2"></textarea>`} />
        <${y} ...${f} part="retainDays" label="Past is kept for days" input=${p=>ae(p,"no limit of its own")} />
        <${y} ...${f} part="retainTransactions" label="Past is kept for transactions" input=${p=>ae(p,"no limit of its own")} />
        ${o.valueType==="tuple"&&a`
          <${y} ...${f} part="tupleAttrs" label="Attributes of the tuple" input=${p=>a`<input ...${p} placeholder="[:order/year :order/number]" />`} />
          <${y} ...${f} part="tupleTypes" label="Types of the tuple" input=${p=>a`<input ...${p} placeholder="[:db.type/long :db.type/string]" />`} />
        `}
      </div>
      <div class="row">
        <${q} ...${f} part="component" label="Component: what it refers to is a part" />
        <${q} ...${f} part="index" label="Index" />
        <${q} ...${f} part="noHistory" label="Without history" />
        <${q} ...${f} part="retainAll" label="Past is kept, whatever :db/retention says" />
      </div>
      <pre class="wrapped code" tabindex="0" role="region" aria-label="Transaction"><code>${d}</code></pre>
      <div class="row"><button type="submit">Dry run</button></div>
    </form>
    <${k} trial=${t} />
  `}function y({part:e,label:t,now:n,set:r,wrong:o,input:i}){let u=U(),c=o?.part===e?o.message:void 0,s={id:u,value:n[e],"aria-invalid":c!==void 0,"aria-describedby":c===void 0?void 0:`${u}-error`,onInput:d=>r(e,d.target.value)};return a`
    <div class="declared">
      <label for=${u}>${t}</label>
      ${i(s)}
      ${c!==void 0&&a`<span class="error" id=${`${u}-error`}>${c}</span>`}
    </div>
  `}function q({part:e,label:t,now:n,set:r,wrong:o}){return a`
    <label><input type="checkbox" checked=${n[e]===!0} onChange=${i=>r(e,i.target.checked)} /> ${t}</label>
    ${o?.part===e&&a`<span class="error">${o.message}</span>`}
  `}function ae(e,t){return a`<input ...${e} type="number" min="1" step="1" placeholder=${t} autocomplete="off" />`}function J(e,t,n,r=""){return a`<select ...${e} onChange=${e.onInput}>${n.map(o=>a`<option key=${o} value=${o} selected=${o===t}>${o||r}</option>`)}</select>`}var w=new E,Te=async()=>(await import("./part-YDBANSTK.js")).underlining(w),ie=()=>{w.dryRun()};function se(){let[e,t]=m(),[n,r]=m(!1),o=async()=>{r(!0),t(void 0);try{w.write((await b("{ schemaProposal }")).schemaProposal)}catch(i){t(i)}finally{r(!1)}};return a`
    <p class="note">
      Typed GraphQL follows declarations as <code>:graphql/type</code>. What the data suggest is written here as a transaction, for you to read and
      edit.
    </p>
    <div class="row">
      <button type="button" class="quiet" disabled=${n} onClick=${()=>{o()}}>${n?"Reading the data\u2026":"Propose"}</button>
    </div>
    <${v} error=${e} />
    ${w.text.value!==""&&a`
      <${_} label="Proposal" text=${w.text} onRun=${ie} extensions=${Te} />
      <div class="row"><button type="button" onClick=${ie} title="Ctrl-Enter">Dry run</button></div>
    `}
    <${k} trial=${w} />
  `}var Se=100,De=20,xe="query ($query: EDN!, $args: [JSON!]) { q(query: $query, args: $args, timeoutMs: 10000) { rows } }",Ae="[:find ?e ?name :in $ [?e ...] :where [?e ?a] [?a :db/ident ?name]]",ke="[:find ?e ?name :in $ [?e ...] :where [?e :db/ident ?name]]";async function F(e,t=[]){return(await b(xe,{query:e,args:t})).q.rows}async function le(){let e=g.value.filter(({ident:s,valueType:d,datomCount:l})=>d==="ref"&&l!==0&&!$(s)).slice(0,Se),t=await Promise.all(e.map(async({ident:s})=>({ident:s,targets:(await F(`[:find ?v :where [_ ${s} ?v] :limit ${De}]`)).map(([d])=>String(d))}))),n=[...new Set(t.flatMap(s=>s.targets))].map(Number);if(n.length===0)return[];let[r,o]=await Promise.all([F(Ae,[n]),F(ke,[n])]),i=new Map,u=(s,d)=>{let l=String(d);$(l)||i.set(String(s),(i.get(String(s))??new Set).add(R(l)))};for(let[s,d]of[...r,...o])u(s,d);return t.flatMap(({ident:s,targets:d})=>[...new Set(d.flatMap(l=>[...i.get(l)??[]]))].map(l=>({from:R(s),to:l,label:s})))}function de(){let e=j(null),[t,n]=m(),[r,o]=m(),i=g.value.length>0;h(()=>{i&&le().then(n,o)},[i]);let u=c=>A(c,P,{ident:c});return h(()=>{if(!t||t.length===0)return;let c=new AbortController;return import("./part-7C7WXICD.js").then(({draw:s})=>{if(c.signal.aborted||!e.current)return;let d=s(e.current,()=>{}),l=[...new Set(t.flatMap(({from:T,to:C})=>[T,C]))];d.show({nodes:l,edges:t,total:l.length},T=>T),c.signal.addEventListener("abort",()=>d.remove())},o),()=>c.abort()},[t,Q.value]),a`
    <${v} error=${r} />
    <p class="note" role="status">
      ${t===void 0?r?"":"Reading a sample of each ref\u2026":t.length===0?"No ref has a value.":`${t.length} references between namespaces, by a sample of the values of each ref.`}
    </p>
    ${t!==void 0&&t.length>0&&a`
      <div class="graph-host references" ref=${e} role="img" aria-label="Graph of the references between namespaces. The table below has the same ones."></div>
      <div class="changes" role="region" tabindex="0" aria-label="References">
        <table>
          <thead><tr><th scope="col">From</th><th scope="col">By</th><th scope="col">To</th></tr></thead>
          <tbody>
            ${t.map(({from:c,to:s,label:d})=>a`<tr key=${`${d} ${s}`}><td>${c}</td><td><button type="button" class="ref" onClick=${()=>u(d)}>${d}</button></td><td>${s}</td></tr>`)}
          </tbody>
        </table>
      </div>
    `}
  `}var ue=[{name:"attributes",title:"Attributes",component:te,forAdmins:!1},{name:"references",title:"References",component:de,forAdmins:!1},{name:"declare",title:"Declare",component:oe,forAdmins:!1},{name:"proposals",title:"Proposals",component:se,forAdmins:!0}];function Ct(){let e=x.value.parameters.get("view"),t=ue.filter(({forAdmins:r})=>!r||W()),n=t.find(r=>r.name===e)??t[0]??ue[0];return a`
    <div class="row">
      <h1>Schema</h1>
      <nav class="ways" aria-label="Views of the schema">
        ${t.map(r=>a`<a key=${r.name} href=${S("schema",{view:r.name})} aria-current=${r===n?"true":void 0}>${r.title}</a>`)}
      </nav>
    </div>
    <${n.component} />
  `}export{Ct as Schema};
