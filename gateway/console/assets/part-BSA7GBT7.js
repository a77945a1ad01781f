import{a as N,b as j,d as F,f as Z,g as D,h as C}from"./part-YEI5FPSD.js";import{b as Q}from"./part-APBLB4GF.js";import{a as V}from"./part-NP4RHPSR.js";import"./part-WNXJMTH6.js";import"./part-I5A673K4.js";import"./part-OQ547FIK.js";import"./part-GJOCZJZ7.js";import"./part-LJZ7Y7LB.js";import"./part-7VBUNBJ5.js";import"./part-UVVRTPSV.js";import"./part-VWBY6ZJU.js";import{b as _}from"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{a as A}from"./part-SF3TZDU3.js";import{a as i}from"./part-BGX5RPQL.js";import{a as Y}from"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import{a as x,b as G,c as T}from"./part-C3FHAUT3.js";import"./part-5SBNPJNF.js";import{a as w,e as E,f as X}from"./part-E36UJHIO.js";import{f as k}from"./part-XTEOP6XV.js";import"./part-ZJ7BM5PU.js";import"./part-VTCKWQW5.js";import{d as g,f as S,k as M}from"./part-ST7TEUSA.js";function O({trial:e}){let[t,n]=g("");if(!X())return null;let r=o=>{o.preventDefault();let a=new FormData(o.currentTarget),l=String(a.get("roles")??"").split(/[\s,]+/).filter(Boolean),f=String(a.get("claims")??"").trim();try{let c=f===""?{}:JSON.parse(f);if(typeof c!="object"||c===null||Array.isArray(c))throw new Error("it is no object");e.as.value=l.length===0&&f===""?void 0:{roles:l,claims:c},n("")}catch(c){n(`Claims are a JSON object, as {"sub": "ada"}: ${String(c instanceof Error?c.message:c)}`)}};return i`
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
  `}var L={instant:"inst",uuid:"uuid",uri:"uri",duration:"duration",bytes:"bytes"},R={long:"42",double:"1.5",float:"1.5",bigdec:"9.90",bigint:"12345678901234567890",keyword:":status/open",symbol:"name",instant:"2026-05-01T12:00:00Z",uuid:"00000000-0000-0000-0000-000000000000",uri:"https://example.org/",duration:"P1DT2H",bytes:"base64",ref:"entity",tuple:"[1 2]"};function J(e,t){let n=t==="string"?e:/^#\S+\s*(".*")$/s.exec(e)?.[1];if(n!==void 0&&(t==="string"||t!==null&&t in L))try{return JSON.parse(n)}catch{return e}return t==="bigdec"||t==="bigint"?e.replace(/[MN]$/,""):e}function z(e,t){if(t==="string")return JSON.stringify(e);let n=e.trim();if(t!==null&&t in L)return`#${L[t]} ${JSON.stringify(n)}`;if(t==="bigdec"&&/^[-+]?[\d.]+$/.test(n))return`${n}M`;if(t==="bigint"&&/^[-+]?\d+$/.test(n))return`${n}N`;if((t==="double"||t==="float")&&/^[-+]?\d+$/.test(n))return`${n}.0`;let r=Y.parse(n),o=!1;if(r.iterate({enter:a=>{o||=a.type.isError}}),o||_(r.topNode).length!==1)throw new Error(`This is not one ${t??"EDN value"}${t!==null&&t in R?`, as ${R[t]}`:""}.`);return n}var dt={stored:void 0,typed:""},ct="query ($components: [EDN!]!) { datoms(index: EAVT, components: $components, encoding: EDN) { datoms { e a v } } }";function H(e,t){return{id:e,fields:nt({},new Set([t]))}}async function et(e){let t=await tt(e);if(t===void 0)return;let n=Object.entries(t.fields).flatMap(([o,a])=>E(o)?.isComponent?a:[]),r=await Promise.all(n.flatMap(({stored:o})=>o===void 0?[]:[tt(o)]));return[t,...r.filter(o=>o!==void 0)]}async function tt(e){let{datoms:t}=(await k(ct,{components:[e]})).datoms,[n]=t;if(n===void 0)return;let r={};for(let{a,v:l}of t)(r[a]??=[]).push({stored:l,typed:J(l,E(a)?.valueType??null)});let o=new Set(Object.keys(r).filter(a=>!N(a)).map(j));return{id:String(n.e),fields:nt(r,o)}}function nt(e,t){let n=w.value.filter(({ident:r})=>t.has(j(r))&&!(r in e));return{...e,...Object.fromEntries(n.map(({ident:r})=>[r,[dt]]))}}function P(e,t,n,r){return e.map(o=>o.id===t?{...o,fields:{...o.fields,[n]:r}}:o)}function rt(e,t,n,r){let o=JSON.stringify(`part-${e.length}`),a=(e.find(c=>c.id===t)?.fields[n]??[]).filter(({stored:c,typed:$})=>c!==void 0||$!==""),l={stored:void 0,typed:o},f=E(n)?.cardinality==="many"?[...a,l]:[l];return[...P(e,t,n,f),H(o,r)]}function q(e,t){let n=[],r=[];for(let o of e){if(o!==e[0]&&!mt(e,o.id))continue;let a=t?.find(({id:l})=>l===o.id);for(let[l,f]of Object.entries(o.fields)){let c=[];f.forEach(({stored:u,typed:p},h)=>{let y=E(l)?.valueType??null;if(!(u===void 0&&p==="")){if(u!==void 0&&p===J(u,y))return void c.push(u);if(p!=="")try{c.push(z(p,y))}catch(v){r.push({id:o.id,ident:l,place:h,message:v.message})}}});let $=(a?.fields[l]??[]).flatMap(({stored:u})=>u===void 0?[]:[u]),s=c.filter(u=>!$.includes(u)),d=$.filter(u=>!c.includes(u));E(l)?.cardinality==="one"&&s.length>0||n.push(...d.map(u=>ft(o.id,l,u))),n.push(...s.map(u=>`[:db/add ${o.id} ${l} ${u}]`))}}return{text:n.length===0?"[]":`[${n.join(`
 `)}]`,mistakes:r}}function ft(e,t,n){return E(t)?.isComponent?`[:db/retractEntity ${n}]`:`[:db/retract ${e} ${t} ${n}]`}function mt(e,t){return e.some(({fields:n})=>Object.values(n).some(r=>r.some(({typed:o})=>o===t)))}function ot({fields:e}){return w.value.filter(({ident:t})=>!(t in e)&&!N(t))}var pt=8,$t=8,yt='query ($eid: EDN!) { pull(pattern: "[:db/id]", eid: $eid) }',gt="query ($query: EDN!, $args: [JSON!]) { q(query: $query, args: $args) { rows } }";async function it(e){let t=e.trim();if(t==="")return[];if(/^(\d+$|:|\[)/.test(t)){let{pull:r}=await k(yt,{eid:t}),o=r?.[":db/id"];if(o==null)return[];let a=await Q([String(o)],{});return[{id:String(o),label:a.get(String(o))?.text??t}]}let n=bt().map(async r=>{let o=`[:find ?e ?v :in $ ?text :where [?e ${r} ?v] [(starts-with? ?v ?text)] :order-by ?v :limit ${$t}]`,{q:a}=await k(gt,{query:o,args:[t]});return a.rows.map(([l,f])=>({id:String(l),label:`${String(f)} \xB7 ${r}`}))});return(await Promise.all(n)).flat()}function bt(){let e=w.value.filter(({valueType:r,datomCount:o,ident:a})=>r==="string"&&o!==0&&!a.startsWith(":db")),t=e.filter(r=>r.unique!==null),n=e.filter(r=>r.unique===null&&/\/(name|title|label|email|key)$/.test(r.ident));return[...t,...n].slice(0,pt).map(({ident:r})=>r)}function I({label:e,onChosen:t}){let[n,r]=g(""),[o,a]=g(),[l,f]=g(),c=M(),$=async()=>{try{f(void 0),a(await it(n))}catch(d){a(void 0),f(d)}};return i`
    <div class="finder" role="search" aria-label=${e}>
      <div class="row">
        <label>${e} <input type="search" value=${n} aria-describedby=${c} onInput=${d=>r(d.target.value)} onKeyDown=${d=>{d.key==="Enter"&&(d.preventDefault(),$())}} autocomplete="off" /></label>
        <button type="button" class="quiet" onClick=${()=>{$()}}>Find</button>
      </div>
      <p class="note" id=${c}>An id, an ident, a lookup ref, or how a name begins.</p>
      <${A} error=${l} />
      ${o&&i`<p class="note" role="status">${o.length===0?"Nothing is found.":`${o.length} found.`}</p>`}
      ${o&&i`<ul class="values">
        ${o.map(d=>i`<li key=${d.id}><button type="button" class="ref" onClick=${()=>t(d)}>${d.label}</button> <span class="note">${d.id}</span></li>`)}
      </ul>`}
    </div>
  `}function st({attribute:e,entries:t,mistakes:n,labels:r,onChange:o,part:a}){let{ident:l,valueType:f,cardinality:c,doc:$}=e,s=c==="many",d=(u,p)=>o(t.map((h,y)=>y===u?{...h,typed:p}:h)),m=u=>o(s?t.filter((p,h)=>h!==u):t.map(p=>({...p,typed:""})));return i`
    <fieldset class="field">
      <legend><code>${l}</code> <span class="note">${[f??"any type",s?"many":""].filter(Boolean).join(", ")}</span></legend>
      ${$&&i`<p class="note">${$}</p>`}
      ${t.map((u,p)=>{let h=a(u),y=n.find(({place:v})=>v===p)?.message;return i`
          <div class="field-value" key=${p}>
            ${h??i`<${vt} attribute=${e} entry=${u} number=${s?p+1:void 0} wrong=${y} label=${r.get(u.typed)?.text} onTyped=${v=>d(p,v)} />`}
            ${(u.stored!==void 0||u.typed!==""||s&&t.length>1)&&i`<button type="button" class="quiet small" aria-label=${`Remove ${l}${s?` ${p+1}`:""}`} onClick=${()=>m(p)}>Remove</button>`}
          </div>
        `})}
      ${s&&!e.isComponent&&i`<button type="button" class="quiet small" onClick=${()=>o([...t,{stored:void 0,typed:""}])} aria-label=${`Another value of ${l}`}>Another value</button>`}
    </fieldset>
  `}function vt({attribute:{ident:e,valueType:t},entry:n,number:r,wrong:o,label:a,onTyped:l}){let[f,c]=g(!1),$=M(),s={"aria-label":r===void 0?e:`${e} ${r}`,"aria-invalid":o!==void 0,"aria-describedby":o===void 0?void 0:$,value:n.typed,onInput:u=>l(u.target.value)},d=o!==void 0&&i`<span class="error" id=${$} role="alert">${o}</span>`;if(t==="boolean")return i`<select ...${s} onChange=${s.onInput}><option value="">no value</option><option value="true">true</option><option value="false">false</option></select>${d}`;if(t==="string")return i`<textarea rows=${Math.min(6,n.typed.split(`
`).length+Math.floor(n.typed.length/45))} spellcheck=${!1} ...${s}></textarea>${d}`;let m=["long","double","float","bigdec","bigint"].includes(t??"");return i`
    <input ...${s} inputmode=${m?"decimal":void 0} placeholder=${R[t??""]??"EDN"} autocomplete="off" spellcheck=${!1} />
    ${d}
    ${t==="ref"&&i`
      ${a&&i`<span class="note">${a}</span>`}
      <button type="button" class="quiet small" aria-expanded=${f} aria-label=${`Find an entity for ${e}`} onClick=${()=>c(!f)}>Find</button>
      ${f&&i`<${I}
        label=${`Entity for ${e}`}
        onChosen=${({id:u})=>{l(u),c(!1)}}
      />`}
    `}
  `}function B({draft:e,id:t,mistakes:n,onChange:r,withParts:o}){let a=e.find(s=>s.id===t),l=Object.entries(a?.fields??{}).flatMap(([s,d])=>{let m=E(s);return m&&(!N(s)||d.some(({stored:u})=>u!==void 0))?[{known:m,entries:d}]:[]}),f=l.flatMap(({known:s,entries:d})=>s.valueType==="ref"?d.map(({typed:m})=>m).filter(m=>/^\d+$/.test(m)):[]),c=Z(f);if(a===void 0)return null;let $=({typed:s})=>o&&s!==""&&e.some(d=>d!==e[0]&&d.id===s)?i`<div class="part"><h3>Part ${s}</h3><${B} draft=${e} id=${s} mistakes=${n} onChange=${r} withParts=${!1} /></div>`:void 0;return i`
    <div class="fields">
      ${l.map(({known:s,entries:d})=>i`
          <div key=${s.ident}>
            <${st}
              attribute=${s}
              entries=${d}
              labels=${c}
              mistakes=${n.filter(m=>m.id===t&&m.ident===s.ident)}
              onChange=${m=>r(P(e,t,s.ident,m))}
              part=${s.isComponent?$:()=>{}}
            />
            ${o&&s.isComponent&&i`<${ht} attribute=${s} onChosen=${m=>r(rt(e,t,s.ident,m))} />`}
          </div>
        `)}
    </div>
    <${Et} attributes=${ot(a)} onChosen=${s=>r(P(e,t,s,[{stored:void 0,typed:""}]))} />
  `}function ht({attribute:{ident:e},onChosen:t}){return i`<label class="note">
    New part of ${e}
    <select value="" onChange=${n=>t(n.target.value)}>
      <option value="">choose a namespace</option>
      ${F().map(n=>i`<option key=${n} value=${n}>${n}</option>`)}
    </select>
  </label>`}function Et({attributes:e,onChosen:t}){return e.length===0?null:i`<label class="note">
    Another attribute
    <select value="" onChange=${n=>t(n.target.value)}>
      <option value="">choose</option>
      ${e.map(({ident:n})=>i`<option key=${n} value=${n}>${n}</option>`)}
    </select>
  </label>`}var at='"new"';function lt(){let e=x.value.parameters.get("entity"),t=x.value.parameters.get("new"),n=w.value.length>0;return i`
    <div class="choice">
      <${I} label="Entity" onChosen=${({id:r})=>T("change",{way:"entity",entity:r})} />
      <label>
        New of
        <select value=${t??""} onChange=${r=>T("change",{way:"entity",new:r.target.value})}>
          <option value="">choose a namespace</option>
          ${F().map(r=>i`<option key=${r} value=${r}>${r}</option>`)}
        </select>
      </label>
    </div>
    ${n&&(e!==null||t!==null)&&i`<${wt} key=${`${e} ${t}`} entity=${e} namespace=${t??""} />`}
  `}function wt({entity:e,namespace:t}){let[n]=g(()=>new C),[r,o]=g(),[a,l]=g(()=>e===null?[H(at,t)]:void 0),[f,c]=g(),[$,s]=g([]),d=n.committed.value;if(S(()=>{if(e===null)return;let y=!0;return et(e).then(v=>{y&&(o(v),l(v),c(v?void 0:new Error(`There is nothing of entity ${e}, or nothing that you may see.`)))},c),()=>{y=!1}},[e,d]),a===void 0)return i`${f?i`<${A} error=${f} />`:i`<p class="note" role="status">Loading…</p>`}<${D} trial=${n} />`;let m=a[0]?.id??at,u=y=>{y.preventDefault();let{text:v,mistakes:U}=q(a,r);s(U),!(U.length>0)&&(n.text.value=v,n.dryRun())},p=()=>{n.text.value=`[[:db/retractEntity ${m}]]`,n.dryRun()},h=y=>{l(y),s([]),n.text.value=q(y,r).text};return i`
    <form class="entity-form stack" aria-label=${e===null?`New ${t}`:`Entity ${m}`} onSubmit=${u}>
      <h2>${e===null?`A new entity of ${t}`:`Entity ${m}`}</h2>
      <${B} draft=${a} id=${m} mistakes=${$} onChange=${h} withParts=${!0} />
      <div class="row">
        <button type="submit">Dry run</button>
        ${e!==null&&i`<button type="button" class="quiet" onClick=${p}>Retract the entity</button>`}
        <button type="button" class="quiet" onClick=${()=>T("change",{tx:q(a,r).text})}>Edit as a transaction</button>
      </div>
    </form>
    <${O} trial=${n} />
    <${D} trial=${n} />
  `}var b=new C;b.text.value="[]";var xt=async()=>(await import("./part-YDBANSTK.js")).underlining(b),W=()=>{b.dryRun()};function ut(){let e=x.value.parameters.get("tx");return S(()=>{e!==null&&e!==b.text.peek()&&b.write(e)},[e]),i`
    <section class="ask" aria-label="Transaction">
      <${V} label="Transaction" text=${b.text} onRun=${W} extensions=${xt} />
      <${kt} />
      <${O} trial=${b} />
      <div class="row">
        <button type="button" onClick=${W} title="Ctrl-Enter">Dry run</button>
        <span class="note">EDN: maps and lists, as <code>[[:db/add 1 :person/name "Ada"]]</code>. <code>?name</code> gets a field for its value.</span>
      </div>
    </section>
    <${D} trial=${b} />
  `}function kt(){let e=b.variables.value;if(e.length===0)return null;let t=r=>o=>{b.values.value={...b.values.value,[r]:o.target.value}};return i`
    <form class="arguments" aria-label="Values" onSubmit=${r=>{r.preventDefault(),W()}}>
      ${e.map(r=>i`<label key=${r}><code>?${r}</code> <input name=${`value-${r}`} value=${b.values.value[r]??""} onInput=${t(r)} placeholder="JSON or text" /></label>`)}
      <button type="submit" class="hidden">Dry run with these values</button>
    </form>
  `}var K=[{name:"transaction",title:"Transaction",component:ut},{name:"entity",title:"Entity",component:lt}];function Te(){let e=x.value.parameters,t=e.get("way")??(e.has("entity")?"entity":"transaction"),n=K.find(r=>r.name===t)??K[0];return i`
    <div class="row">
      <h1>Change</h1>
      <nav class="ways" aria-label="Ways to change">
        ${K.map(r=>i`<a key=${r.name} href=${G("change",{way:r.name})} aria-current=${r===n?"true":void 0}>${r.title}</a>`)}
      </nav>
    </div>
    <${n.component} />
  `}export{Te as Change};
