import{b as L}from"./part-APBLB4GF.js";import{b as D}from"./part-NP4RHPSR.js";import{a as k}from"./part-I5A673K4.js";import{b as q}from"./part-7VBUNBJ5.js";import{a as C}from"./part-UVVRTPSV.js";import{c as x,w as O}from"./part-VWBY6ZJU.js";import{a as A}from"./part-SF3TZDU3.js";import{a}from"./part-BGX5RPQL.js";import{a as v}from"./part-XVFH4FSZ.js";import{c as E}from"./part-C3FHAUT3.js";import{d as h}from"./part-5SBNPJNF.js";import{a as T,d as S,e as f}from"./part-E36UJHIO.js";import{f as u}from"./part-XTEOP6XV.js";import{e as R}from"./part-VTCKWQW5.js";import{d as m,f as p,n as l,o as c}from"./part-ST7TEUSA.js";function z(t){return/^:(db|db\.\w+|graphql|policy)\//.test(t)}function X(t){return/^:([^/]+)\//.exec(t)?.[1]??""}function mt(t){return t.replace(/^:(?:[^/]+\/)?/,"")}function pt(){return[...Y(T.value.filter(({ident:t})=>!z(t))).keys()]}function Y(t){let e=new Map;for(let n of[...t].sort((r,o)=>r.ident<o.ident?-1:1)){let r=X(n.ident);e.set(r,[...e.get(r)??[],n])}return e}var Z=20,tt=5e3,N=`query: $query, argsEdn: $argsEdn, as: $as, timeoutMs: ${tt}`,et=`query ($query: EDN!, $argsEdn: [EDN!], $as: AsInput, $with: EDN!, $withArgs: JSON) { before: q(${N}) { rows } after: q(${N}, with: $with, withArgs: $withArgs) { columns { name type } rows } }`;function nt(){let e=[O.peek(),...x.peek().map(({query:n,argsEdn:r,basis:o})=>({query:n,argsEdn:r,basis:o}))].filter(({basis:n,query:r})=>n===void 0&&r.trim()!=="");return[...new Map(e.map(n=>[JSON.stringify([n.query,n.argsEdn]),n])).values()].slice(0,Z)}async function J(t,e){let n=[],r=nt(),o=0,s=0;for(let i of r)try{let d=await rt(i,t,e);d===void 0?s+=1:d.came.length+d.went.length>0&&n.push(d)}catch(d){if(e.aborted)throw d;o+=1}return{differing:n,compared:r.length-o-s,failed:o,unordered:s}}async function rt(t,{tx:e,args:n,as:r},o){let s={query:t.query,with:e,...t.argsEdn.length>0?{argsEdn:t.argsEdn}:{},...n?{withArgs:n}:{},...r??t.as?{as:r??t.as}:{}},{before:i,after:d}=await u(et,s,o);if(!(h(t,i.rows)||h(t,d.rows)))return{question:t,columns:d.columns,came:M(d.rows,i.rows),went:M(i.rows,d.rows)}}function M(t,e){let n=new Set(e.map(r=>JSON.stringify(r)));return t.filter(r=>!n.has(JSON.stringify(r)))}function j({tried:t}){let[e,n]=m();return p(()=>{let r=new AbortController;return n(void 0),J(t.transaction,r.signal).then(n,()=>{}),()=>r.abort()},[t]),a`
    <section class="affected" aria-label="Queries that would answer otherwise" aria-busy=${e===void 0}>
      <h3>Queries that would answer otherwise</h3>
      <p class="note" role="status">${e===void 0?"Running your queries with and without the change\u2026":ot(e)}</p>
      ${e!==void 0&&e.differing.length>0&&a`<ul class="values stack">
        ${e.differing.map((r,o)=>a`
            <li key=${o} class="row">
              <code class="one-line">${r.question.query}</code>
              <span class="number">+${r.came.length.toLocaleString()} −${r.went.length.toLocaleString()} rows</span>
              <button type="button" class="quiet small" onClick=${()=>C("Rows that come and go",st,{effect:r})}>Show the rows</button>
            </li>
          `)}
      </ul>`}
    </section>
  `}function ot({differing:t,compared:e,failed:n,unordered:r}){return`${[`${t.length} of ${e} ${e===1?"query":"queries"} of the history`,n>0&&`${n} could not be compared`,r>0&&`${r} not compared: with :limit and without :order-by an answer has any of the rows`].filter(Boolean).join("; ")}.`}function st({effect:{question:t,columns:e,came:n,went:r}}){let o=new Map([...n.map(s=>[s,"added"]),...r.map(s=>[s,"retracted"])]);return a`
    <pre class="wrapped"><code>${t.query}</code></pre>
    <p class="note">${n.length.toLocaleString()} rows come, ${r.length.toLocaleString()} go.</p>
    <div class="difference"><${D} label="Rows that come and go" columns=${e} rows=${[...o.keys()]} marks=${o} /></div>
  `}var at=200;function I(t,e){let[n,r]=m(new Map),o=JSON.stringify([t,e]);return p(()=>{let s=new AbortController,i=e===void 0?{}:{with:e.tx,withArgs:e.args};return L(t.slice(0,at),i,s.signal).then(d=>!s.signal.aborted&&r(d),()=>{}),()=>s.abort()},[o]),n}var $=500;function w({datoms:t,transaction:e}){let n=t.slice(0,$),r=n.filter(({a:i})=>f(i)?.valueType==="ref").map(({v:i})=>i),o=I([...n.map(({e:i})=>i),...r],e),s=i=>a`<button type="button" class="ref" onClick=${()=>q(i)}>${i}</button> ${o.get(i)?.text}`;return a`
    <div class="changes signed" role="region" tabindex="0" aria-label="Datoms">
      <table>
        <thead>
          <tr><th scope="col"><span class="hidden">Change</span></th><th scope="col">Entity</th><th scope="col">Attribute</th><th scope="col">Value</th></tr>
        </thead>
        <tbody>
          ${n.map(({e:i,a:d,v:b,added:y},H)=>a`
              <tr key=${H} class=${y?"added":"retracted"}>
                <td><span class="sign" aria-hidden="true">${y?"+":"\u2212"}</span><span class="hidden">${y?"comes":"goes"}</span></td>
                <td>${s(String(i))}</td>
                <td><code>${d}</code></td>
                <td>${f(d)?.valueType==="ref"?s(b):a`<code>${b}</code>`}</td>
              </tr>
            `)}
        </tbody>
      </table>
    </div>
    ${t.length>$&&a`<p class="note">The first ${$} of ${t.length.toLocaleString()} datoms.</p>`}
  `}function g({datoms:t}){let e=new Set(t.filter(({a:n})=>n===":db/txInstant").map(({e:n})=>String(n)));return t.filter(({e:n})=>!e.has(String(n)))}function P(t){let e=g(t),n=new Set(e.filter(({a:o,added:s})=>!s&&f(o)?.cardinality==="one").map(B)),r=e.filter(o=>!(o.added&&n.has(B(o)))).map(({e:o,a:s,v:i,added:d})=>`[${d?":db/retract":":db/add"} ${o} ${s} ${i}]`);return r.length===0?"[]":`[${r.join(`
 `)}]`}function B({e:t,a:e}){return`${t} ${e}`}function Wt({trial:t}){let e=t.tried.value,n=t.committed.value,r=k();return a`
    <section ref=${r} tabindex="-1" class="preview stack" aria-label="What it does" aria-busy=${t.isRunning.value} data-ended=${t.ended.value}>
      <${A} error=${t.failure.value} />
      ${t.isOvertaken.value&&a`<p class="row">
        Another transaction came after the dry run.
        <button type="button" onClick=${()=>{t.dryRun()}}>Repeat the dry run</button>
      </p>`}
      ${e&&a`<${it} trial=${t} tried=${e} />`}
      ${n&&a`<${dt} report=${n} />`}
    </section>
  `}function it({trial:t,tried:e}){let{report:n,transaction:r}=e,o=g(n),s=o.filter(({added:i})=>i).length;return a`
    <p role="status">
      <strong>Dry run at t ${n.basisBefore}:</strong> ${s.toLocaleString()} ${s===1?"datom comes":"datoms come"},
      ${" "}${(o.length-s).toLocaleString()} ${o.length-s===1?"goes":"go"}. Nothing is committed.
    </p>
    <${Q} report=${n} />
    ${o.length>0&&a`<${w} datoms=${o} transaction=${r} />`}
    <div class="row">
      <button type="button" disabled=${!t.isCurrent.value} aria-disabled=${t.isRunning.value} onClick=${()=>{t.commit()}}>Commit</button>
      ${!t.isCurrent.value&&a`<span class="note">The transaction has been changed since. Run it dry again to commit it.</span>`}
    </div>
    <${j} tried=${e} />
  `}function dt({report:t}){let e=g(t),n=Object.entries(t.tempids),r=P(t);return a`
    <p role="status"><strong>Committed as t ${t.t}</strong> at ${t.txInstant}.</p>
    <${Q} report=${t} />
    ${n.length>0&&a`<dl class="facts">${n.map(([o,s])=>a`<dt key=${o}>${o}</dt><dd>${String(s)}</dd>`)}</dl>`}
    ${e.length>0&&a`
      <${w} datoms=${e} />
      <div class="row">
        <button type="button" class="quiet" onClick=${()=>E("change",{tx:r})}>Write the transaction that undoes it</button>
        <span class="note">It is put in the editor, to be read and edited first.</span>
      </div>
    `}
  `}function Q({report:t}){return t.warnings.length===0?null:a`<ul class="values warnings">${t.warnings.map(({code:e,message:n},r)=>a`<li key=${r}><strong>${e}</strong> ${n}</li>`)}</ul>`}var K="{ t basisBefore txInstant tempids datoms { e a v added } warnings { code message line column } }",lt=`query ($tx: EDN!, $args: JSON, $as: AsInput) { dryRun(tx: $tx, args: $args, as: $as, encoding: EDN) ${K} }`,ct=`mutation ($tx: EDN!, $args: JSON, $as: AsInput, $expectedBasisT: Long, $idempotencyKey: String) { transact(tx: $tx, args: $args, as: $as, expectedBasisT: $expectedBasisT, idempotencyKey: $idempotencyKey, encoding: EDN) ${K} }`;async function U(t,e){return(await u(lt,_(t),e)).dryRun}async function W(t,e,n){let r={..._(t),expectedBasisT:e,idempotencyKey:n};return(await u(ct,r)).transact}function _({tx:t,args:e,as:n}){return{tx:t,...e===void 0?{}:{args:e},...n===void 0?{}:{as:n}}}function F(t){let e=new Set;return v.parse(t).iterate({enter(n){if(n.name!=="Symbol")return;let r=t.slice(n.from,n.to);/^\?./.test(r)&&e.add(r.slice(1))}}),[...e]}function V(t){try{return JSON.parse(t)}catch{return t}}var G=class{text=l("");values=l({});as=l(void 0);tried=l(void 0);failure=l(void 0);refused=l(void 0);committed=l(void 0);isRunning=l(!1);ended=l(0);variables=c(()=>F(this.text.value));transaction=c(()=>{let e=this.variables.value,n=Object.fromEntries(e.map(r=>[r,V(this.values.value[r]??"")]));return{tx:this.text.value,args:e.length>0?n:void 0,as:this.as.value}});isCurrent=c(()=>JSON.stringify(this.tried.value?.transaction)===JSON.stringify(this.transaction.value));isOvertaken=c(()=>this.failure.value instanceof R&&this.failure.value.code==="BASIS_CONFLICT");running;async dryRun(){this.running?.abort();let e=this.running=new AbortController,n=this.transaction.value;await this.run(e,n,async()=>{this.tried.value=void 0,this.committed.value=void 0;let r=await U(n,e.signal);e.signal.aborted||(this.tried.value={transaction:n,report:r,key:ut()})})}async commit(){let e=this.tried.value;if(e===void 0||this.isRunning.value)return;let n=this.running=new AbortController;await this.run(n,e.transaction,async()=>{this.committed.value=await W(e.transaction,e.report.basisBefore,e.key),this.tried.value=void 0}),this.committed.value&&await S().catch(()=>{})}write(e){this.running?.abort(),this.text.value=e,this.tried.value=this.committed.value=this.failure.value=this.refused.value=void 0,this.isRunning.value=!1}async run(e,{tx:n},r){this.isRunning.value=!0;try{await r(),e===this.running&&(this.failure.value=this.refused.value=void 0)}catch(o){if(e!==this.running||e.signal.aborted)return;this.failure.value=o,this.refused.value=n}finally{e===this.running&&(this.isRunning.value=!1,this.ended.value+=1)}}};function ut(){return Array.from(crypto.getRandomValues(new Uint8Array(16)),t=>t.toString(16).padStart(2,"0")).join("")}export{z as a,X as b,mt as c,pt as d,Y as e,I as f,Wt as g,G as h};
