import{b as k}from"./part-APBLB4GF.js";import{b as q}from"./part-TUUQKUQB.js";import{a as C}from"./part-I5A673K4.js";import{b as L}from"./part-IDDGE6OV.js";import{a as A}from"./part-UVVRTPSV.js";import{c as R,w as E}from"./part-NWNI4R2S.js";import{a as O}from"./part-SF3TZDU3.js";import{a as i}from"./part-BGX5RPQL.js";import{a as w}from"./part-XVFH4FSZ.js";import{c as S}from"./part-C3FHAUT3.js";import{a as x,d as T,e as f}from"./part-E36UJHIO.js";import{f as u}from"./part-XTEOP6XV.js";import{e as v}from"./part-VTCKWQW5.js";import{d as m,f as p,n as c,o as l}from"./part-ST7TEUSA.js";function H(t){return/^:(db|db\.\w+|graphql|policy)\//.test(t)}function z(t){return/^:([^/]+)\//.exec(t)?.[1]??""}function ft(t){return t.replace(/^:(?:[^/]+\/)?/,"")}function mt(){return[...X(x.value.filter(({ident:t})=>!H(t))).keys()]}function X(t){let e=new Map;for(let n of[...t].sort((r,o)=>r.ident<o.ident?-1:1)){let r=z(n.ident);e.set(r,[...e.get(r)??[],n])}return e}var Y=20,Z=5e3,D=`query: $query, argsEdn: $argsEdn, as: $as, timeoutMs: ${Z}`,tt=`query ($query: EDN!, $argsEdn: [EDN!], $as: AsInput, $with: EDN!, $withArgs: JSON) { before: q(${D}) { rows } after: q(${D}, with: $with, withArgs: $withArgs) { columns { name type } rows } }`;function et(){let e=[E.peek(),...R.peek().map(({query:n,argsEdn:r,basis:o})=>({query:n,argsEdn:r,basis:o}))].filter(({basis:n,query:r})=>n===void 0&&r.trim()!=="");return[...new Map(e.map(n=>[JSON.stringify([n.query,n.argsEdn]),n])).values()].slice(0,Y)}async function M(t,e){let n=[],r=et(),o=0;for(let a of r)try{let s=await nt(a,t,e);s.came.length+s.went.length>0&&n.push(s)}catch(s){if(e.aborted)throw s;o+=1}return{differing:n,compared:r.length-o,failed:o}}async function nt(t,{tx:e,args:n,as:r},o){let a={query:t.query,with:e,...t.argsEdn.length>0?{argsEdn:t.argsEdn}:{},...n?{withArgs:n}:{},...r??t.as?{as:r??t.as}:{}},{before:s,after:d}=await u(tt,a,o);return{question:t,columns:d.columns,came:N(d.rows,s.rows),went:N(s.rows,d.rows)}}function N(t,e){let n=new Set(e.map(r=>JSON.stringify(r)));return t.filter(r=>!n.has(JSON.stringify(r)))}function J({tried:t}){let[e,n]=m();return p(()=>{let r=new AbortController;return n(void 0),M(t.transaction,r.signal).then(n,()=>{}),()=>r.abort()},[t]),i`
    <section class="affected" aria-label="Queries that would answer otherwise" aria-busy=${e===void 0}>
      <h3>Queries that would answer otherwise</h3>
      <p class="note" role="status">${e===void 0?"Running your queries with and without the change\u2026":rt(e)}</p>
      ${e!==void 0&&e.differing.length>0&&i`<ul class="values stack">
        ${e.differing.map((r,o)=>i`
            <li key=${o} class="row">
              <code class="one-line">${r.question.query}</code>
              <span class="number">+${r.came.length.toLocaleString()} −${r.went.length.toLocaleString()} rows</span>
              <button type="button" class="quiet small" onClick=${()=>A("Rows that come and go",ot,{effect:r})}>Show the rows</button>
            </li>
          `)}
      </ul>`}
    </section>
  `}function rt({differing:t,compared:e,failed:n}){let r=`${t.length} of ${e} ${e===1?"query":"queries"} of the history`;return n>0?`${r}; ${n} could not be compared.`:`${r}.`}function ot({effect:{question:t,columns:e,came:n,went:r}}){let o=new Map([...n.map(a=>[a,"added"]),...r.map(a=>[a,"retracted"])]);return i`
    <pre class="wrapped"><code>${t.query}</code></pre>
    <p class="note">${n.length.toLocaleString()} rows come, ${r.length.toLocaleString()} go.</p>
    <div class="difference"><${q} label="Rows that come and go" columns=${e} rows=${[...o.keys()]} marks=${o} /></div>
  `}var st=200;function j(t,e){let[n,r]=m(new Map),o=JSON.stringify([t,e]);return p(()=>{let a=new AbortController,s=e===void 0?{}:{with:e.tx,withArgs:e.args};return k(t.slice(0,st),s,a.signal).then(d=>!a.signal.aborted&&r(d),()=>{}),()=>a.abort()},[o]),n}var h=500;function $({datoms:t,transaction:e}){let n=t.slice(0,h),r=n.filter(({a:s})=>f(s)?.valueType==="ref").map(({v:s})=>s),o=j([...n.map(({e:s})=>s),...r],e),a=s=>i`<button type="button" class="ref" onClick=${()=>L(s)}>${s}</button> ${o.get(s)?.text}`;return i`
    <div class="changes signed" role="region" tabindex="0" aria-label="Datoms">
      <table>
        <thead>
          <tr><th scope="col"><span class="hidden">Change</span></th><th scope="col">Entity</th><th scope="col">Attribute</th><th scope="col">Value</th></tr>
        </thead>
        <tbody>
          ${n.map(({e:s,a:d,v:b,added:y},G)=>i`
              <tr key=${G} class=${y?"added":"retracted"}>
                <td><span class="sign" aria-hidden="true">${y?"+":"\u2212"}</span><span class="hidden">${y?"comes":"goes"}</span></td>
                <td>${a(String(s))}</td>
                <td><code>${d}</code></td>
                <td>${f(d)?.valueType==="ref"?a(b):i`<code>${b}</code>`}</td>
              </tr>
            `)}
        </tbody>
      </table>
    </div>
    ${t.length>h&&i`<p class="note">The first ${h} of ${t.length.toLocaleString()} datoms.</p>`}
  `}function g({datoms:t}){let e=new Set(t.filter(({a:n})=>n===":db/txInstant").map(({e:n})=>String(n)));return t.filter(({e:n})=>!e.has(String(n)))}function P(t){let e=g(t),n=new Set(e.filter(({a:o,added:a})=>!a&&f(o)?.cardinality==="one").map(I)),r=e.filter(o=>!(o.added&&n.has(I(o)))).map(({e:o,a,v:s,added:d})=>`[${d?":db/retract":":db/add"} ${o} ${a} ${s}]`);return r.length===0?"[]":`[${r.join(`
 `)}]`}function I({e:t,a:e}){return`${t} ${e}`}function Kt({trial:t}){let e=t.tried.value,n=t.committed.value,r=C();return i`
    <section ref=${r} tabindex="-1" class="preview stack" aria-label="What it does" aria-busy=${t.isRunning.value} data-ended=${t.ended.value}>
      <${O} error=${t.failure.value} />
      ${t.isOvertaken.value&&i`<p class="row">
        Another transaction came after the dry run.
        <button type="button" onClick=${()=>{t.dryRun()}}>Repeat the dry run</button>
      </p>`}
      ${e&&i`<${at} trial=${t} tried=${e} />`}
      ${n&&i`<${it} report=${n} />`}
    </section>
  `}function at({trial:t,tried:e}){let{report:n,transaction:r}=e,o=g(n),a=o.filter(({added:s})=>s).length;return i`
    <p role="status">
      <strong>Dry run at t ${n.basisBefore}:</strong> ${a.toLocaleString()} ${a===1?"datom comes":"datoms come"},
      ${" "}${(o.length-a).toLocaleString()} ${o.length-a===1?"goes":"go"}. Nothing is committed.
    </p>
    <${B} report=${n} />
    ${o.length>0&&i`<${$} datoms=${o} transaction=${r} />`}
    <div class="row">
      <button type="button" disabled=${!t.isCurrent.value} aria-disabled=${t.isRunning.value} onClick=${()=>{t.commit()}}>Commit</button>
      ${!t.isCurrent.value&&i`<span class="note">The transaction has been changed since. Run it dry again to commit it.</span>`}
    </div>
    <${J} tried=${e} />
  `}function it({report:t}){let e=g(t),n=Object.entries(t.tempids),r=P(t);return i`
    <p role="status"><strong>Committed as t ${t.t}</strong> at ${t.txInstant}.</p>
    <${B} report=${t} />
    ${n.length>0&&i`<dl class="facts">${n.map(([o,a])=>i`<dt key=${o}>${o}</dt><dd>${String(a)}</dd>`)}</dl>`}
    ${e.length>0&&i`
      <${$} datoms=${e} />
      <div class="row">
        <button type="button" class="quiet" onClick=${()=>S("change",{tx:r})}>Write the transaction that undoes it</button>
        <span class="note">It is put in the editor, to be read and edited first.</span>
      </div>
    `}
  `}function B({report:t}){return t.warnings.length===0?null:i`<ul class="values warnings">${t.warnings.map(({code:e,message:n},r)=>i`<li key=${r}><strong>${e}</strong> ${n}</li>`)}</ul>`}var Q="{ t basisBefore txInstant tempids datoms { e a v added } warnings { code message line column } }",dt=`query ($tx: EDN!, $args: JSON, $as: AsInput) { dryRun(tx: $tx, args: $args, as: $as, encoding: EDN) ${Q} }`,ct=`mutation ($tx: EDN!, $args: JSON, $as: AsInput, $expectedBasisT: Long, $idempotencyKey: String) { transact(tx: $tx, args: $args, as: $as, expectedBasisT: $expectedBasisT, idempotencyKey: $idempotencyKey, encoding: EDN) ${Q} }`;async function K(t,e){return(await u(dt,W(t),e)).dryRun}async function U(t,e,n){let r={...W(t),expectedBasisT:e,idempotencyKey:n};return(await u(ct,r)).transact}function W({tx:t,args:e,as:n}){return{tx:t,...e===void 0?{}:{args:e},...n===void 0?{}:{as:n}}}function _(t){let e=new Set;return w.parse(t).iterate({enter(n){if(n.name!=="Symbol")return;let r=t.slice(n.from,n.to);/^\?./.test(r)&&e.add(r.slice(1))}}),[...e]}function F(t){try{return JSON.parse(t)}catch{return t}}var V=class{text=c("");values=c({});as=c(void 0);tried=c(void 0);failure=c(void 0);refused=c(void 0);committed=c(void 0);isRunning=c(!1);ended=c(0);variables=l(()=>_(this.text.value));transaction=l(()=>{let e=this.variables.value,n=Object.fromEntries(e.map(r=>[r,F(this.values.value[r]??"")]));return{tx:this.text.value,args:e.length>0?n:void 0,as:this.as.value}});isCurrent=l(()=>JSON.stringify(this.tried.value?.transaction)===JSON.stringify(this.transaction.value));isOvertaken=l(()=>this.failure.value instanceof v&&this.failure.value.code==="BASIS_CONFLICT");running;async dryRun(){this.running?.abort();let e=this.running=new AbortController,n=this.transaction.value;await this.run(e,n,async()=>{this.tried.value=void 0,this.committed.value=void 0;let r=await K(n,e.signal);e.signal.aborted||(this.tried.value={transaction:n,report:r,key:lt()})})}async commit(){let e=this.tried.value;if(e===void 0||this.isRunning.value)return;let n=this.running=new AbortController;await this.run(n,e.transaction,async()=>{this.committed.value=await U(e.transaction,e.report.basisBefore,e.key),this.tried.value=void 0}),this.committed.value&&await T().catch(()=>{})}write(e){this.running?.abort(),this.text.value=e,this.tried.value=this.committed.value=this.failure.value=this.refused.value=void 0,this.isRunning.value=!1}async run(e,{tx:n},r){this.isRunning.value=!0;try{await r(),e===this.running&&(this.failure.value=this.refused.value=void 0)}catch(o){if(e!==this.running||e.signal.aborted)return;this.failure.value=o,this.refused.value=n}finally{e===this.running&&(this.isRunning.value=!1,this.ended.value+=1)}}};function lt(){return Array.from(crypto.getRandomValues(new Uint8Array(16)),t=>t.toString(16).padStart(2,"0")).join("")}export{H as a,z as b,ft as c,mt as d,X as e,j as f,Kt as g,V as h};
