import{b as C}from"./part-4PWXK2BP.js";import{b as L}from"./part-XKBPPHEZ.js";import{b as k}from"./part-QHEBMXJB.js";import{a as A}from"./part-NEIUQMN6.js";import{c as R,w as E}from"./part-QU72OV5I.js";import{a as O}from"./part-PQQ22TZ7.js";import{a as i}from"./part-H5APD4YT.js";import{a as b}from"./part-XVFH4FSZ.js";import{c as T}from"./part-56TO7VDT.js";import{a as x,d as S,e as f}from"./part-5H6WSBG3.js";import{f as u}from"./part-CNZ6Q6GD.js";import{e as v}from"./part-VTCKWQW5.js";import{d as m,f as p,m as l,n as c}from"./part-RZWRK72K.js";function G(t){return/^:(db|db\.\w+|graphql|policy)\//.test(t)}function z(t){return/^:([^/]+)\//.exec(t)?.[1]??""}function ut(t){return t.replace(/^:(?:[^/]+\/)?/,"")}function ft(){return[...H(x.value.filter(({ident:t})=>!G(t))).keys()]}function H(t){let e=new Map;for(let n of[...t].sort((r,o)=>r.ident<o.ident?-1:1)){let r=z(n.ident);e.set(r,[...e.get(r)??[],n])}return e}var X=20,Y=5e3,q=`query: $query, argsEdn: $argsEdn, as: $as, timeoutMs: ${Y}`,Z=`query ($query: EDN!, $argsEdn: [EDN!], $as: AsInput, $with: EDN!, $withArgs: JSON) { before: q(${q}) { rows } after: q(${q}, with: $with, withArgs: $withArgs) { columns { name type } rows } }`;function tt(){let e=[E.peek(),...R.peek().map(({query:n,argsEdn:r,basis:o})=>({query:n,argsEdn:r,basis:o}))].filter(({basis:n,query:r})=>n===void 0&&r.trim()!=="");return[...new Map(e.map(n=>[JSON.stringify([n.query,n.argsEdn]),n])).values()].slice(0,X)}async function N(t,e){let n=[],r=tt(),o=0;for(let a of r)try{let s=await et(a,t,e);s.came.length+s.went.length>0&&n.push(s)}catch(s){if(e.aborted)throw s;o+=1}return{differing:n,compared:r.length-o,failed:o}}async function et(t,{tx:e,args:n,as:r},o){let a={query:t.query,with:e,...t.argsEdn.length>0?{argsEdn:t.argsEdn}:{},...n?{withArgs:n}:{},...r??t.as?{as:r??t.as}:{}},{before:s,after:d}=await u(Z,a,o);return{question:t,columns:d.columns,came:D(d.rows,s.rows),went:D(s.rows,d.rows)}}function D(t,e){let n=new Set(e.map(r=>JSON.stringify(r)));return t.filter(r=>!n.has(JSON.stringify(r)))}function J({tried:t}){let[e,n]=m();return p(()=>{let r=new AbortController;return n(void 0),N(t.transaction,r.signal).then(n,()=>{}),()=>r.abort()},[t]),i`
    <section class="affected" aria-label="Queries that would answer otherwise" aria-busy=${e===void 0}>
      <h3>Queries that would answer otherwise</h3>
      <p class="note" role="status">${e===void 0?"Running your queries with and without the change\u2026":nt(e)}</p>
      ${e!==void 0&&e.differing.length>0&&i`<ul class="values stack">
        ${e.differing.map((r,o)=>i`
            <li key=${o} class="row">
              <code class="one-line">${r.question.query}</code>
              <span class="number">+${r.came.length.toLocaleString()} −${r.went.length.toLocaleString()} rows</span>
              <button type="button" class="quiet small" onClick=${()=>A("Rows that come and go",rt,{effect:r})}>Show the rows</button>
            </li>
          `)}
      </ul>`}
    </section>
  `}function nt({differing:t,compared:e,failed:n}){let r=`${t.length} of ${e} ${e===1?"query":"queries"} of the history`;return n>0?`${r}; ${n} could not be compared.`:`${r}.`}function rt({effect:{question:t,columns:e,came:n,went:r}}){let o=new Map([...n.map(a=>[a,"added"]),...r.map(a=>[a,"retracted"])]);return i`
    <pre class="wrapped"><code>${t.query}</code></pre>
    <p class="note">${n.length.toLocaleString()} rows come, ${r.length.toLocaleString()} go.</p>
    <div class="difference"><${L} label="Rows that come and go" columns=${e} rows=${[...o.keys()]} marks=${o} /></div>
  `}var ot=200;function M(t,e){let[n,r]=m(new Map),o=JSON.stringify([t,e]);return p(()=>{let a=new AbortController,s=e===void 0?{}:{with:e.tx,withArgs:e.args};return C(t.slice(0,ot),s,a.signal).then(d=>!a.signal.aborted&&r(d),()=>{}),()=>a.abort()},[o]),n}var h=500;function $({datoms:t,transaction:e}){let n=t.slice(0,h),r=n.filter(({a:s})=>f(s)?.valueType==="ref").map(({v:s})=>s),o=M([...n.map(({e:s})=>s),...r],e),a=s=>i`<button type="button" class="ref" onClick=${()=>k(s)}>${s}</button> ${o.get(s)?.text}`;return i`
    <div class="changes signed" role="region" tabindex="0" aria-label="Datoms">
      <table>
        <thead>
          <tr><th scope="col"><span class="hidden">Change</span></th><th scope="col">Entity</th><th scope="col">Attribute</th><th scope="col">Value</th></tr>
        </thead>
        <tbody>
          ${n.map(({e:s,a:d,v:w,added:y},V)=>i`
              <tr key=${V} class=${y?"added":"retracted"}>
                <td><span class="sign" aria-hidden="true">${y?"+":"\u2212"}</span><span class="hidden">${y?"comes":"goes"}</span></td>
                <td>${a(String(s))}</td>
                <td><code>${d}</code></td>
                <td>${f(d)?.valueType==="ref"?a(w):i`<code>${w}</code>`}</td>
              </tr>
            `)}
        </tbody>
      </table>
    </div>
    ${t.length>h&&i`<p class="note">The first ${h} of ${t.length.toLocaleString()} datoms.</p>`}
  `}function g({datoms:t}){let e=new Set(t.filter(({a:n})=>n===":db/txInstant").map(({e:n})=>String(n)));return t.filter(({e:n})=>!e.has(String(n)))}function I(t){let e=g(t),n=new Set(e.filter(({a:o,added:a})=>!a&&f(o)?.cardinality==="one").map(j)),r=e.filter(o=>!(o.added&&n.has(j(o)))).map(({e:o,a,v:s,added:d})=>`[${d?":db/retract":":db/add"} ${o} ${a} ${s}]`);return r.length===0?"[]":`[${r.join(`
 `)}]`}function j({e:t,a:e}){return`${t} ${e}`}function Bt({trial:t}){let e=t.tried.value,n=t.committed.value;return i`
    <section class="preview stack" aria-label="What it does" aria-busy=${t.isRunning.value} data-ended=${t.ended.value}>
      <${O} error=${t.failure.value} />
      ${t.isOvertaken.value&&i`<p class="row">
        Another transaction came after the dry run.
        <button type="button" onClick=${()=>{t.dryRun()}}>Repeat the dry run</button>
      </p>`}
      ${e&&i`<${st} trial=${t} tried=${e} />`}
      ${n&&i`<${at} report=${n} />`}
    </section>
  `}function st({trial:t,tried:e}){let{report:n,transaction:r}=e,o=g(n),a=o.filter(({added:s})=>s).length;return i`
    <p role="status">
      <strong>Dry run at t ${n.basisBefore}:</strong> ${a.toLocaleString()} ${a===1?"datom comes":"datoms come"},
      ${" "}${(o.length-a).toLocaleString()} ${o.length-a===1?"goes":"go"}. Nothing is committed.
    </p>
    <${P} report=${n} />
    ${o.length>0&&i`<${$} datoms=${o} transaction=${r} />`}
    <div class="row">
      <button type="button" disabled=${!t.isCurrent.value||t.isRunning.value} onClick=${()=>{t.commit()}}>Commit</button>
      ${!t.isCurrent.value&&i`<span class="note">The transaction has been changed since. Run it dry again to commit it.</span>`}
    </div>
    <${J} tried=${e} />
  `}function at({report:t}){let e=g(t),n=Object.entries(t.tempids),r=I(t);return i`
    <p role="status"><strong>Committed as t ${t.t}</strong> at ${t.txInstant}.</p>
    <${P} report=${t} />
    ${n.length>0&&i`<dl class="facts">${n.map(([o,a])=>i`<dt key=${o}>${o}</dt><dd>${String(a)}</dd>`)}</dl>`}
    ${e.length>0&&i`
      <${$} datoms=${e} />
      <div class="row">
        <button type="button" class="quiet" onClick=${()=>T("change",{tx:r})}>Write the transaction that undoes it</button>
        <span class="note">It is put in the editor, to be read and edited first.</span>
      </div>
    `}
  `}function P({report:t}){return t.warnings.length===0?null:i`<ul class="values warnings">${t.warnings.map(({code:e,message:n},r)=>i`<li key=${r}><strong>${e}</strong> ${n}</li>`)}</ul>`}var B="{ t basisBefore txInstant tempids datoms { e a v added } warnings { code message line column } }",it=`query ($tx: EDN!, $args: JSON, $as: AsInput) { dryRun(tx: $tx, args: $args, as: $as, encoding: EDN) ${B} }`,dt=`mutation ($tx: EDN!, $args: JSON, $as: AsInput, $expectedBasisT: Long, $idempotencyKey: String) { transact(tx: $tx, args: $args, as: $as, expectedBasisT: $expectedBasisT, idempotencyKey: $idempotencyKey, encoding: EDN) ${B} }`;async function Q(t,e){return(await u(it,W(t),e)).dryRun}async function U(t,e,n){let r={...W(t),expectedBasisT:e,idempotencyKey:n};return(await u(dt,r)).transact}function W({tx:t,args:e,as:n}){return{tx:t,...e===void 0?{}:{args:e},...n===void 0?{}:{as:n}}}function K(t){let e=new Set;return b.parse(t).iterate({enter(n){if(n.name!=="Symbol")return;let r=t.slice(n.from,n.to);/^\?./.test(r)&&e.add(r.slice(1))}}),[...e]}function _(t){try{return JSON.parse(t)}catch{return t}}var F=class{text=l("");values=l({});as=l(void 0);tried=l(void 0);failure=l(void 0);refused=l(void 0);committed=l(void 0);isRunning=l(!1);ended=l(0);variables=c(()=>K(this.text.value));transaction=c(()=>{let e=this.variables.value,n=Object.fromEntries(e.map(r=>[r,_(this.values.value[r]??"")]));return{tx:this.text.value,args:e.length>0?n:void 0,as:this.as.value}});isCurrent=c(()=>JSON.stringify(this.tried.value?.transaction)===JSON.stringify(this.transaction.value));isOvertaken=c(()=>this.failure.value instanceof v&&this.failure.value.code==="BASIS_CONFLICT");running;async dryRun(){this.running?.abort();let e=this.running=new AbortController,n=this.transaction.value;await this.run(e,n,async()=>{this.tried.value=void 0,this.committed.value=void 0;let r=await Q(n,e.signal);e.signal.aborted||(this.tried.value={transaction:n,report:r,key:lt()})})}async commit(){let e=this.tried.value;if(e===void 0||this.isRunning.value)return;let n=this.running=new AbortController;await this.run(n,e.transaction,async()=>{this.committed.value=await U(e.transaction,e.report.basisBefore,e.key),this.tried.value=void 0}),this.committed.value&&await S().catch(()=>{})}write(e){this.running?.abort(),this.text.value=e,this.tried.value=this.committed.value=this.failure.value=this.refused.value=void 0,this.isRunning.value=!1}async run(e,{tx:n},r){this.isRunning.value=!0;try{await r(),e===this.running&&(this.failure.value=this.refused.value=void 0)}catch(o){if(e!==this.running||e.signal.aborted)return;this.failure.value=o,this.refused.value=n}finally{e===this.running&&(this.isRunning.value=!1,this.ended.value+=1)}}};function lt(){return Array.from(crypto.getRandomValues(new Uint8Array(16)),t=>t.toString(16).padStart(2,"0")).join("")}export{G as a,z as b,ut as c,ft as d,H as e,M as f,Bt as g,F as h};
