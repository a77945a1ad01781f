import{a as tt,b as lt,c as dt}from"./part-UJFACDFC.js";import{a as O}from"./part-6NG5V7EY.js";import{a as at}from"./part-SBDAR3H7.js";import{A as st,e as nt,l as k,m as it,n as T}from"./part-ZB5WHM2B.js";import{f as h,g as R,j as rt,k as b,l as ot}from"./part-PDMBXXWH.js";import"./part-HJLQ2EQ6.js";import{a as q}from"./part-XVFH4FSZ.js";import{a as i}from"./part-AB74YKQT.js";import{a as $,c as S,f as M,h as x,i as A,k as et}from"./part-WOCHKVMF.js";import"./part-6D7OL7PE.js";import"./part-XLI5J4VL.js";function L({trial:e}){let[t,n]=$("");if(!ot())return null;let r=o=>{o.preventDefault();let s=new FormData(o.currentTarget),a=String(s.get("roles")??"").split(/[\s,]+/).filter(Boolean),c=String(s.get("claims")??"").trim();try{let d=c===""?{}:JSON.parse(c);if(typeof d!="object"||d===null||Array.isArray(d))throw new Error("it is no object");e.as.value=a.length===0&&c===""?void 0:{roles:a,claims:d},n("")}catch(d){n(`Claims are a JSON object, as {"sub": "ada"}: ${String(d instanceof Error?d.message:d)}`)}};return i`
    <details class="as">
      <summary>${e.as.value?`As ${e.as.value.roles.join(", ")||"an identity without roles"}`:"As another identity"}</summary>
      <form class="row" onSubmit=${r} aria-label="As another identity">
        <label>Roles <input name="roles" placeholder="member" autocomplete="off" /></label>
        <label>Claims <input name="claims" placeholder=${'{"sub": "ada"}'} autocomplete="off" aria-invalid=${t!==""} /></label>
        <button type="submit" class="quiet">Use</button>
        <button type="reset" class="quiet" onClick=${()=>e.as.value=void 0}>As myself</button>
      </form>
      ${t&&i`<p class="error" role="alert">${t}</p>`}
    </details>
  `}var qt=20,Lt=5e3,ut=`query: $query, argsEdn: $argsEdn, as: $as, timeoutMs: ${Lt}`,Pt=`query ($query: EDN!, $argsEdn: [EDN!], $as: AsInput, $with: EDN!, $withArgs: JSON) { before: q(${ut}) { rows } after: q(${ut}, with: $with, withArgs: $withArgs) { columns { name type } rows } }`;function Ft(){let e=[st.peek()].filter(({basis:t,query:n})=>t===void 0&&n.trim()!=="");return[...new Map(e.map(t=>[JSON.stringify([t.query,t.argsEdn]),t])).values()].slice(0,qt)}async function ft(e,t){let n=[],r=Ft(),o=0;for(let s of r)try{let a=await jt(s,e,t);a.came.length+a.went.length>0&&n.push(a)}catch(a){if(t.aborted)throw a;o+=1}return{differing:n,compared:r.length-o,failed:o}}async function jt(e,{tx:t,args:n,as:r},o){let s={query:e.query,with:t,...e.argsEdn.length>0?{argsEdn:e.argsEdn}:{},...n?{withArgs:n}:{},...r??e.as?{as:r??e.as}:{}},{before:a,after:c}=await h(Pt,s,o);return{question:e,columns:c.columns,came:ct(c.rows,a.rows),went:ct(a.rows,c.rows)}}function ct(e,t){let n=new Set(t.map(r=>JSON.stringify(r)));return e.filter(r=>!n.has(JSON.stringify(r)))}function mt({tried:e}){let[t,n]=$();return S(()=>{let r=new AbortController;return n(void 0),ft(e.transaction,r.signal).then(n,()=>{}),()=>r.abort()},[e]),i`
    <section class="affected" aria-label="Queries that would answer otherwise" aria-busy=${t===void 0}>
      <h3>Queries that would answer otherwise</h3>
      <p class="note" role="status">${t===void 0?"Running your queries with and without the change\u2026":It(t)}</p>
      ${t!==void 0&&t.differing.length>0&&i`<ul class="values stack">
        ${t.differing.map((r,o)=>i`
            <li key=${o} class="row">
              <code class="one-line">${r.question.query}</code>
              <span class="number">+${r.came.length.toLocaleString()} −${r.went.length.toLocaleString()} rows</span>
              <button type="button" class="quiet small" onClick=${()=>at("Rows that come and go",Jt,{effect:r})}>Show the rows</button>
            </li>
          `)}
      </ul>`}
    </section>
  `}function It({differing:e,compared:t,failed:n}){let r=`${e.length} of ${t} ${t===1?"query":"queries"} of the history`;return n>0?`${r}; ${n} could not be compared.`:`${r}.`}function Jt({effect:{question:e,columns:t,came:n,went:r}}){let o=new Map([...n.map(s=>[s,"added"]),...r.map(s=>[s,"retracted"])]);return i`
    <pre class="wrapped"><code>${e.query}</code></pre>
    <p class="note">${n.length.toLocaleString()} rows come, ${r.length.toLocaleString()} go.</p>
    <div class="difference"><${dt} label="Rows that come and go" columns=${t} rows=${[...o.keys()]} marks=${o} /></div>
  `}var Bt=200,Wt="query ($pattern: EDN!, $eids: [EDN!]!, $with: EDN, $withArgs: JSON) { pullMany(pattern: $pattern, eids: $eids, with: $with, withArgs: $withArgs) }";async function U(e,t){let n=[...new Set(e.map(String))].slice(0,Bt),o=R.value.filter(({unique:m,valueType:l})=>m!==null&&l!=="ref"&&l!=="tuple").filter(({ident:m})=>m!==":db/ident").map(({ident:m})=>m);if(n.length===0)return new Map;let s=[":db/ident",...o],a=t===void 0?{}:{with:t.tx,...t.args?{withArgs:t.args}:{}},{pullMany:c}=await h(Wt,{pattern:`[${s.join(" ")}]`,eids:n,...a}),d=c.map((m,l)=>[n[l]??"",String(s.map(u=>m?.[u]).find(u=>u!==void 0)??"")]);return new Map(d.filter(([,m])=>m!==""))}function P(e,t){let[n,r]=$(new Map),o=JSON.stringify([e,t]);return S(()=>{let s=!0;return U(e,t).then(a=>s&&r(a),()=>{}),()=>{s=!1}},[o]),n}var K=500;function H({datoms:e,transaction:t}){let n=e.slice(0,K),r=n.filter(({a})=>b(a)?.valueType==="ref").map(({v:a})=>a),o=P([...n.map(({e:a})=>a),...r],t),s=a=>i`<button type="button" class="ref" onClick=${()=>lt(a)}>${a}</button> ${o.get(a)}`;return i`
    <div class="changes" role="region" tabindex="0" aria-label="Datoms">
      <table>
        <thead>
          <tr><th scope="col"><span class="hidden">Change</span></th><th scope="col">Entity</th><th scope="col">Attribute</th><th scope="col">Value</th></tr>
        </thead>
        <tbody>
          ${n.map(({e:a,a:c,v:d,added:m},l)=>i`
              <tr key=${l} class=${m?"added":"retracted"}>
                <td><span class="sign" aria-hidden="true">${m?"+":"\u2212"}</span><span class="hidden">${m?"comes":"goes"}</span></td>
                <td>${s(String(a))}</td>
                <td><code>${c}</code></td>
                <td>${b(c)?.valueType==="ref"?s(d):i`<code>${d}</code>`}</td>
              </tr>
            `)}
        </tbody>
      </table>
    </div>
    ${e.length>K&&i`<p class="note">The first ${K} of ${e.length.toLocaleString()} datoms.</p>`}
  `}function F({datoms:e}){let t=new Set(e.filter(({a:n})=>n===":db/txInstant").map(({e:n})=>String(n)));return e.filter(({e:n})=>!t.has(String(n)))}function gt(e){let t=F(e),n=new Set(t.filter(({a:o,added:s})=>!s&&b(o)?.cardinality==="one").map(pt)),r=t.filter(o=>!(o.added&&n.has(pt(o)))).map(({e:o,a:s,v:a,added:c})=>`[${c?":db/retract":":db/add"} ${o} ${s} ${a}]`);return r.length===0?"[]":`[${r.join(`
 `)}]`}function pt({e,a:t}){return`${e} ${t}`}function D({trial:e}){let t=e.tried.value,n=e.committed.value;return i`
    <section class="preview stack" aria-label="What it does" aria-busy=${e.isRunning.value} data-ended=${e.ended.value}>
      <${O} error=${e.failure.value} />
      ${e.isOvertaken.value&&i`<p class="row">
        Another transaction came after the dry run.
        <button type="button" onClick=${()=>{e.dryRun()}}>Repeat the dry run</button>
      </p>`}
      ${t&&i`<${Ut} trial=${e} tried=${t} />`}
      ${n&&i`<${Kt} report=${n} />`}
    </section>
  `}function Ut({trial:e,tried:t}){let{report:n,transaction:r}=t,o=F(n),s=o.filter(({added:a})=>a).length;return i`
    <p role="status">
      <strong>Dry run at t ${n.basisBefore}:</strong> ${s.toLocaleString()} ${s===1?"datom comes":"datoms come"},
      ${" "}${(o.length-s).toLocaleString()} ${o.length-s===1?"goes":"go"}. Nothing is committed.
    </p>
    <${$t} report=${n} />
    ${o.length>0&&i`<${H} datoms=${o} transaction=${r} />`}
    <div class="row">
      <button type="button" disabled=${!e.isCurrent.value||e.isRunning.value} onClick=${()=>{e.commit()}}>Commit</button>
      ${!e.isCurrent.value&&i`<span class="note">The transaction has been changed since. Run it dry again to commit it.</span>`}
    </div>
    <${mt} tried=${t} />
  `}function Kt({report:e}){let t=F(e),n=Object.entries(e.tempids),r=gt(e);return i`
    <p role="status"><strong>Committed as t ${e.t}</strong> at ${e.txInstant}.</p>
    <${$t} report=${e} />
    ${n.length>0&&i`<dl class="facts">${n.map(([o,s])=>i`<dt key=${o}>${o}</dt><dd>${String(s)}</dd>`)}</dl>`}
    ${t.length>0&&i`
      <${H} datoms=${t} />
      <div class="row">
        <button type="button" class="quiet" onClick=${()=>T("change",{tx:r})}>Write the transaction that undoes it</button>
        <span class="note">It is put in the editor, to be read and edited first.</span>
      </div>
    `}
  `}function $t({report:e}){return e.warnings.length===0?null:i`<ul class="values warnings">${e.warnings.map(({code:t,message:n},r)=>i`<li key=${r}><strong>${t}</strong> ${n}</li>`)}</ul>`}var yt="{ t basisBefore txInstant tempids datoms { e a v added } warnings { code message line column } }",Ht=`query ($tx: EDN!, $args: JSON, $as: AsInput) { dryRun(tx: $tx, args: $args, as: $as, encoding: EDN) ${yt} }`,Qt=`mutation ($tx: EDN!, $args: JSON, $as: AsInput, $expectedBasisT: Long, $idempotencyKey: String) { transact(tx: $tx, args: $args, as: $as, expectedBasisT: $expectedBasisT, idempotencyKey: $idempotencyKey, encoding: EDN) ${yt} }`;async function bt(e,t){return(await h(Ht,vt(e),t)).dryRun}async function ht(e,t,n){let r={...vt(e),expectedBasisT:t,idempotencyKey:n};return(await h(Qt,r)).transact}function vt({tx:e,args:t,as:n}){return{tx:e,...t===void 0?{}:{args:t},...n===void 0?{}:{as:n}}}function wt(e){let t=new Set;return q.parse(e).iterate({enter(n){if(n.name!=="Symbol")return;let r=e.slice(n.from,n.to);/^\?./.test(r)&&t.add(r.slice(1))}}),[...t]}function Et(e){try{return JSON.parse(e)}catch{return e}}var N=class{text=x("");values=x({});as=x(void 0);tried=x(void 0);failure=x(void 0);refused=x(void 0);committed=x(void 0);isRunning=x(!1);ended=x(0);variables=A(()=>wt(this.text.value));transaction=A(()=>{let t=this.variables.value,n=Object.fromEntries(t.map(r=>[r,Et(this.values.value[r]??"")]));return{tx:this.text.value,args:t.length>0?n:void 0,as:this.as.value}});isCurrent=A(()=>JSON.stringify(this.tried.value?.transaction)===JSON.stringify(this.transaction.value));isOvertaken=A(()=>this.failure.value instanceof et&&this.failure.value.code==="BASIS_CONFLICT");running;async dryRun(){this.running?.abort();let t=this.running=new AbortController,n=this.transaction.value;await this.run(t,n,async()=>{this.tried.value=void 0,this.committed.value=void 0;let r=await bt(n,t.signal);t.signal.aborted||(this.tried.value={transaction:n,report:r,key:_t()})})}async commit(){let t=this.tried.value;if(t===void 0||this.isRunning.value)return;let n=this.running=new AbortController;await this.run(n,t.transaction,async()=>{this.committed.value=await ht(t.transaction,t.report.basisBefore,t.key),this.tried.value=void 0}),this.committed.value&&await rt().catch(()=>{})}write(t){this.running?.abort(),this.text.value=t,this.tried.value=this.committed.value=this.failure.value=this.refused.value=void 0,this.isRunning.value=!1}async run(t,{tx:n},r){this.isRunning.value=!0;try{await r(),t===this.running&&(this.failure.value=this.refused.value=void 0)}catch(o){if(t!==this.running||t.signal.aborted)return;this.failure.value=o,this.refused.value=n}finally{t===this.running&&(this.isRunning.value=!1,this.ended.value+=1)}}};function _t(){return Array.from(crypto.getRandomValues(new Uint8Array(16)),e=>e.toString(16).padStart(2,"0")).join("")}var Q={instant:"inst",uuid:"uuid",uri:"uri",duration:"duration",bytes:"bytes"},j={long:"42",double:"1.5",float:"1.5",bigdec:"9.90",bigint:"12345678901234567890",keyword:":status/open",symbol:"name",instant:"2026-05-01T12:00:00Z",uuid:"00000000-0000-0000-0000-000000000000",uri:"https://example.org/",duration:"P1DT2H",bytes:"base64",ref:"entity",tuple:"[1 2]"};function _(e,t){let n=t==="string"?e:/^#\S+\s*(".*")$/s.exec(e)?.[1];if(n!==void 0&&(t==="string"||t!==null&&t in Q))try{return JSON.parse(n)}catch{return e}return t==="bigdec"||t==="bigint"?e.replace(/[MN]$/,""):e}function xt(e,t){if(t==="string")return JSON.stringify(e);let n=e.trim();if(t!==null&&t in Q)return`#${Q[t]} ${JSON.stringify(n)}`;if(t==="bigdec"&&/^[-+]?[\d.]+$/.test(n))return`${n}M`;if(t==="bigint"&&/^[-+]?\d+$/.test(n))return`${n}N`;if((t==="double"||t==="float")&&/^[-+]?\d+$/.test(n))return`${n}.0`;let r=q.parse(n),o=!1;if(r.iterate({enter:s=>{o||=s.type.isError}}),o||nt(r.topNode).length!==1)throw new Error(`This is not one ${t??"EDN value"}${t!==null&&t in j?`, as ${j[t]}`:""}.`);return n}var Vt={stored:void 0,typed:""},Yt="query ($components: [EDN!]!) { datoms(index: EAVT, components: $components, encoding: EDN) { datoms { e a v } } }";function C(e){return/^:(db|db\.\w+|graphql|policy)\//.test(e)}function V(e){return/^:([^/]+)\//.exec(e)?.[1]??""}function I(){return[...new Set(R.value.filter(({ident:e})=>!C(e)).map(({ident:e})=>V(e)))].sort()}function Y(e,t){return{id:e,fields:kt({},new Set([t]))}}async function St(e){let t=await Rt(e);if(t===void 0)return;let n=Object.entries(t.fields).flatMap(([o,s])=>b(o)?.isComponent?s:[]),r=await Promise.all(n.flatMap(({stored:o})=>o===void 0?[]:[Rt(o)]));return[t,...r.filter(o=>o!==void 0)]}async function Rt(e){let{datoms:t}=(await h(Yt,{components:[e]})).datoms,[n]=t;if(n===void 0)return;let r={};for(let{a:s,v:a}of t)(r[s]??=[]).push({stored:a,typed:_(a,b(s)?.valueType??null)});let o=new Set(Object.keys(r).filter(s=>!C(s)).map(V));return{id:String(n.e),fields:kt(r,o)}}function kt(e,t){let n=R.value.filter(({ident:r})=>t.has(V(r))&&!(r in e));return{...e,...Object.fromEntries(n.map(({ident:r})=>[r,[Vt]]))}}function J(e,t,n,r){return e.map(o=>o.id===t?{...o,fields:{...o.fields,[n]:r}}:o)}function Tt(e,t,n,r){let o=JSON.stringify(`part-${e.length}`),s=(e.find(d=>d.id===t)?.fields[n]??[]).filter(({stored:d,typed:m})=>d!==void 0||m!==""),a={stored:void 0,typed:o},c=b(n)?.cardinality==="many"?[...s,a]:[a];return[...J(e,t,n,c),Y(o,r)]}function B(e,t){let n=[],r=[];for(let o of e){if(o!==e[0]&&!Xt(e,o.id))continue;let s=t?.find(({id:a})=>a===o.id);for(let[a,c]of Object.entries(o.fields)){let d=[];c.forEach(({stored:f,typed:g},E)=>{let y=b(a)?.valueType??null;if(!(f===void 0&&g==="")){if(f!==void 0&&g===_(f,y))return void d.push(f);if(g!=="")try{d.push(xt(g,y))}catch(w){r.push({id:o.id,ident:a,place:E,message:w.message})}}});let m=(s?.fields[a]??[]).flatMap(({stored:f})=>f===void 0?[]:[f]),l=d.filter(f=>!m.includes(f)),u=m.filter(f=>!d.includes(f));b(a)?.cardinality==="one"&&l.length>0||n.push(...u.map(f=>Gt(o.id,a,f))),n.push(...l.map(f=>`[:db/add ${o.id} ${a} ${f}]`))}}return{text:n.length===0?"[]":`[${n.join(`
 `)}]`,mistakes:r}}function Gt(e,t,n){return b(t)?.isComponent?`[:db/retractEntity ${n}]`:`[:db/retract ${e} ${t} ${n}]`}function Xt(e,t){return e.some(({fields:n})=>Object.values(n).some(r=>r.some(({typed:o})=>o===t)))}function Ot({fields:e}){return R.value.filter(({ident:t})=>!(t in e)&&!C(t))}var Zt=8,zt=8,te='query ($eid: EDN!) { pull(pattern: "[:db/id]", eid: $eid) }',ee="query ($query: EDN!, $args: [JSON!]) { q(query: $query, args: $args) { rows } }";async function Nt(e){let t=e.trim();if(t==="")return[];if(/^(\d+$|:|\[)/.test(t)){let{pull:r}=await h(te,{eid:t}),o=r?.[":db/id"];if(o==null)return[];let s=await U([String(o)]);return[{id:String(o),label:s.get(String(o))??t}]}let n=ne().map(async r=>{let o=`[:find ?e ?v :in $ ?text :where [?e ${r} ?v] [(starts-with? ?v ?text)] :order-by ?v :limit ${zt}]`,{q:s}=await h(ee,{query:o,args:[t]});return s.rows.map(([a,c])=>({id:String(a),label:`${String(c)} \xB7 ${r}`}))});return(await Promise.all(n)).flat()}function ne(){let e=R.value.filter(({valueType:r,datomCount:o,ident:s})=>r==="string"&&o!==0&&!s.startsWith(":db")),t=e.filter(r=>r.unique!==null),n=e.filter(r=>r.unique===null&&/\/(name|title|label|email|key)$/.test(r.ident));return[...t,...n].slice(0,Zt).map(({ident:r})=>r)}function W({label:e,onChosen:t}){let[n,r]=$(""),[o,s]=$(),[a,c]=$(),d=M(),m=async()=>{try{c(void 0),s(await Nt(n))}catch(u){s(void 0),c(u)}};return i`
    <div class="finder" role="search" aria-label=${e}>
      <div class="row">
        <label>${e} <input type="search" value=${n} aria-describedby=${d} onInput=${u=>r(u.target.value)} onKeyDown=${u=>{u.key==="Enter"&&(u.preventDefault(),m())}} autocomplete="off" /></label>
        <button type="button" class="quiet" onClick=${()=>{m()}}>Find</button>
      </div>
      <p class="note" id=${d}>An id, an ident, a lookup ref, or how a name begins.</p>
      <${O} error=${a} />
      ${o&&i`<p class="note" role="status">${o.length===0?"Nothing is found.":`${o.length} found.`}</p>`}
      ${o&&i`<ul class="values">
        ${o.map(u=>i`<li key=${u.id}><button type="button" class="ref" onClick=${()=>t(u)}>${u.label}</button> <span class="note">${u.id}</span></li>`)}
      </ul>`}
    </div>
  `}function At({attribute:e,entries:t,mistakes:n,labels:r,onChange:o,part:s}){let{ident:a,valueType:c,cardinality:d,doc:m}=e,l=d==="many",u=(f,g)=>o(t.map((E,y)=>y===f?{...E,typed:g}:E)),p=f=>o(l?t.filter((g,E)=>E!==f):t.map(g=>({...g,typed:""})));return i`
    <fieldset class="field">
      <legend><code>${a}</code> <span class="note">${[c??"any type",l?"many":""].filter(Boolean).join(", ")}</span></legend>
      ${m&&i`<p class="note">${m}</p>`}
      ${t.map((f,g)=>{let E=s(f),y=n.find(({place:w})=>w===g)?.message;return i`
          <div class="field-value" key=${g}>
            ${E??i`<${re} attribute=${e} entry=${f} number=${l?g+1:void 0} wrong=${y} label=${r.get(f.typed)} onTyped=${w=>u(g,w)} />`}
            ${(f.stored!==void 0||f.typed!==""||l&&t.length>1)&&i`<button type="button" class="quiet small" aria-label=${`Remove ${a}${l?` ${g+1}`:""}`} onClick=${()=>p(g)}>Remove</button>`}
          </div>
        `})}
      ${l&&!e.isComponent&&i`<button type="button" class="quiet small" onClick=${()=>o([...t,{stored:void 0,typed:""}])} aria-label=${`Another value of ${a}`}>Another value</button>`}
    </fieldset>
  `}function re({attribute:{ident:e,valueType:t},entry:n,number:r,wrong:o,label:s,onTyped:a}){let[c,d]=$(!1),m=M(),l={"aria-label":r===void 0?e:`${e} ${r}`,"aria-invalid":o!==void 0,"aria-describedby":o===void 0?void 0:m,value:n.typed,onInput:f=>a(f.target.value)},u=o!==void 0&&i`<span class="error" id=${m} role="alert">${o}</span>`;if(t==="boolean")return i`<select ...${l}><option value="">no value</option><option value="true">true</option><option value="false">false</option></select>${u}`;if(t==="string")return i`<textarea rows=${Math.min(6,n.typed.split(`
`).length+Math.floor(n.typed.length/45))} spellcheck=${!1} ...${l}></textarea>${u}`;let p=["long","double","float","bigdec","bigint"].includes(t??"");return i`
    <input ...${l} inputmode=${p?"decimal":void 0} placeholder=${j[t??""]??"EDN"} autocomplete="off" spellcheck=${!1} />
    ${u}
    ${t==="ref"&&i`
      ${s&&i`<span class="note">${s}</span>`}
      <button type="button" class="quiet small" aria-expanded=${c} aria-label=${`Find an entity for ${e}`} onClick=${()=>d(!c)}>Find</button>
      ${c&&i`<${W}
        label=${`Entity for ${e}`}
        onChosen=${({id:f})=>{a(f),d(!1)}}
      />`}
    `}
  `}function G({draft:e,id:t,mistakes:n,onChange:r,withParts:o}){let s=e.find(l=>l.id===t),a=Object.entries(s?.fields??{}).flatMap(([l,u])=>{let p=b(l);return p&&(!C(l)||u.some(({stored:f})=>f!==void 0))?[{known:p,entries:u}]:[]}),c=a.flatMap(({known:l,entries:u})=>l.valueType==="ref"?u.map(({typed:p})=>p).filter(p=>/^\d+$/.test(p)):[]),d=P(c);if(s===void 0)return null;let m=({typed:l})=>o&&l!==""&&e.some(u=>u!==e[0]&&u.id===l)?i`<div class="part"><h3>Part ${l}</h3><${G} draft=${e} id=${l} mistakes=${n} onChange=${r} withParts=${!1} /></div>`:void 0;return i`
    <div class="fields">
      ${a.map(({known:l,entries:u})=>i`
          <div key=${l.ident}>
            <${At}
              attribute=${l}
              entries=${u}
              labels=${d}
              mistakes=${n.filter(p=>p.id===t&&p.ident===l.ident)}
              onChange=${p=>r(J(e,t,l.ident,p))}
              part=${l.isComponent?m:()=>{}}
            />
            ${o&&l.isComponent&&i`<${oe} attribute=${l} onChosen=${p=>r(Tt(e,t,l.ident,p))} />`}
          </div>
        `)}
    </div>
    <${ie} attributes=${Ot(s)} onChosen=${l=>r(J(e,t,l,[{stored:void 0,typed:""}]))} />
  `}function oe({attribute:{ident:e},onChosen:t}){return i`<label class="note">
    New part of ${e}
    <select value="" onChange=${n=>t(n.target.value)}>
      <option value="">choose a namespace</option>
      ${I().map(n=>i`<option key=${n} value=${n}>${n}</option>`)}
    </select>
  </label>`}function ie({attributes:e,onChosen:t}){return e.length===0?null:i`<label class="note">
    Another attribute
    <select value="" onChange=${n=>t(n.target.value)}>
      <option value="">choose</option>
      ${e.map(({ident:n})=>i`<option key=${n} value=${n}>${n}</option>`)}
    </select>
  </label>`}var Dt='"new"';function Ct(){let e=k.value.parameters.get("entity"),t=k.value.parameters.get("new"),n=R.value.length>0;return i`
    <div class="choice">
      <${W} label="Entity" onChosen=${({id:r})=>T("change",{way:"entity",entity:r})} />
      <label>
        New of
        <select value=${t??""} onChange=${r=>T("change",{way:"entity",new:r.target.value})}>
          <option value="">choose a namespace</option>
          ${I().map(r=>i`<option key=${r} value=${r}>${r}</option>`)}
        </select>
      </label>
    </div>
    ${n&&(e!==null||t!==null)&&i`<${se} key=${`${e} ${t}`} entity=${e} namespace=${t??""} />`}
  `}function se({entity:e,namespace:t}){let[n]=$(()=>new N),[r,o]=$(),[s,a]=$(()=>e===null?[Y(Dt,t)]:void 0),[c,d]=$(),[m,l]=$([]),u=n.committed.value;if(S(()=>{if(e===null)return;let y=!0;return St(e).then(w=>{y&&(o(w),a(w),d(w?void 0:new Error(`There is nothing of entity ${e}, or nothing that you may see.`)))},d),()=>{y=!1}},[e,u]),s===void 0)return i`${c?i`<${O} error=${c} />`:i`<p class="note" role="status">Loading…</p>`}<${D} trial=${n} />`;let p=s[0]?.id??Dt,f=y=>{y.preventDefault();let{text:w,mistakes:z}=B(s,r);l(z),!(z.length>0)&&(n.text.value=w,n.dryRun())},g=()=>{n.text.value=`[[:db/retractEntity ${p}]]`,n.dryRun()},E=y=>{a(y),l([]),n.text.value=B(y,r).text};return i`
    <form class="entity-form stack" aria-label=${e===null?`New ${t}`:`Entity ${p}`} onSubmit=${f}>
      <h2>${e===null?`A new entity of ${t}`:`Entity ${p}`}</h2>
      <${G} draft=${s} id=${p} mistakes=${m} onChange=${E} withParts=${!0} />
      <div class="row">
        <button type="submit">Dry run</button>
        ${e!==null&&i`<button type="button" class="quiet" onClick=${g}>Retract the entity</button>`}
        <button type="button" class="quiet" onClick=${()=>T("change",{tx:B(s,r).text})}>Edit as a transaction</button>
      </div>
    </form>
    <${L} trial=${n} />
    <${D} trial=${n} />
  `}var v=new N;v.text.value="[]";var ae=async()=>(await import("./part-3X7UYP36.js")).underlining(v),X=()=>{v.dryRun()};function Mt(){let e=k.value.parameters.get("tx");return S(()=>{e!==null&&e!==v.text.peek()&&v.write(e)},[e]),i`
    <section class="ask" aria-label="Transaction">
      <${tt} label="Transaction" text=${v.text} onRun=${X} extensions=${ae} />
      <${le} />
      <${L} trial=${v} />
      <div class="row">
        <button type="button" onClick=${X} title="Ctrl-Enter">Dry run</button>
        <span class="note">EDN: maps and lists, as <code>[[:db/add 1 :person/name "Ada"]]</code>. <code>?name</code> gets a field for its value.</span>
      </div>
    </section>
    <${D} trial=${v} />
  `}function le(){let e=v.variables.value;if(e.length===0)return null;let t=r=>o=>{v.values.value={...v.values.value,[r]:o.target.value}};return i`
    <form class="arguments" aria-label="Values" onSubmit=${r=>{r.preventDefault(),X()}}>
      ${e.map(r=>i`<label key=${r}><code>?${r}</code> <input name=${`value-${r}`} value=${v.values.value[r]??""} onInput=${t(r)} placeholder="JSON or text" /></label>`)}
      <button type="submit" class="hidden">Dry run with these values</button>
    </form>
  `}var Z=[{name:"transaction",title:"Transaction",component:Mt},{name:"entity",title:"Entity",component:Ct}];function Vn(){let e=k.value.parameters,t=e.get("way")??(e.has("entity")?"entity":"transaction"),n=Z.find(r=>r.name===t)??Z[0];return i`
    <div class="row">
      <h1>Change</h1>
      <nav class="ways" aria-label="Ways to change">
        ${Z.map(r=>i`<a key=${r.name} href=${it("change",{way:r.name})} aria-current=${r===n?"true":void 0}>${r.title}</a>`)}
      </nav>
    </div>
    <${n.component} />
  `}export{Vn as Change};
