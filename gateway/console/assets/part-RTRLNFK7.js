import{b as D}from"./part-UVVRTPSV.js";import{a as f,b as $,c as y,d as h,e as k,g as S,h as g}from"./part-7DEI7R3T.js";import{m as d,w}from"./part-VWBY6ZJU.js";import"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{a as q}from"./part-SF3TZDU3.js";import{a as t}from"./part-BGX5RPQL.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import{b,c as v}from"./part-C3FHAUT3.js";import"./part-5SBNPJNF.js";import{c as p,f as c}from"./part-E36UJHIO.js";import"./part-XTEOP6XV.js";import"./part-ZJ7BM5PU.js";import"./part-VTCKWQW5.js";import{d as m,f as u}from"./part-ST7TEUSA.js";function T(){let[e,n]=m(),[a,i]=m(""),s=async(r,o="")=>{n(void 0),i("");try{await r(),i(o)}catch(l){n(l)}};return u(()=>{s(k)},[]),t`
    <div class="stack">
      <${q} error=${e} />
      <p class="note" role="status">${a}</p>
      ${$()?t`<${E} attempt=${s} />`:t`<${A} attempt=${s} />`}
      <ul class="history" aria-label="Saved queries">
        ${f.value.map(r=>t`<${C} key=${r.id} each=${r} attempt=${s} />`)}
      </ul>
    </div>
  `}function A({attempt:e}){return!c()&&p.value?.roles.includes("write")!==!0?t`<p class="note">Saved queries are kept in the database, which has no attributes for them yet. An admin installs them here.</p>`:t`
    <p>Saved queries are kept in this database. It has no attributes for them yet; these would be declared:</p>
    <pre class="typed-graphql" tabindex="0"><code>${y().join(`
`)}</code></pre>
    <div class="row"><button type="button" onClick=${()=>{e(h,"Declared.")}}>Declare them</button></div>
  `}function E({attempt:e}){return t`
    <form class="stack" aria-label="Save the query in the editor" onSubmit=${a=>{a.preventDefault();let i=a.target,s=new FormData(i),r=o=>String(s.get(o)??"").trim();e(async()=>{let{basis:o,...l}=w.peek();await S({...l,...s.has("moment")?{basis:o}:{}},r("name"),r("description"),s.has("shared")),i.reset()},"Saved.")}}>
      <label class="search">Name <input name="name" required maxlength="200" /></label>
      <label class="search">Description <input name="description" maxlength="2000" /></label>
      ${d.value&&t`<label><input type="checkbox" name="moment" defaultChecked /> With its moment, ${x(d.value)}</label>`}
      <label><input type="checkbox" name="shared" /> Every identity may see it</label>
      <div class="row"><button type="submit">Save the query</button></div>
    </form>
  `}function C({each:e,attempt:n}){let a=i=>{i.preventDefault(),D(),v("ask",{saved:e.id})};return t`<li class="saved">
    <a href=${b("ask",{saved:e.id})} onClick=${a}>${e.name}</a>
    ${e.description&&t`<p class="note">${e.description}</p>`}
    <code>${e.query}</code>
    <span class="note">${[e.basis&&`as of ${x(e.basis)}`,e.owner,e.created&&new Date(e.created).toLocaleString()].filter(Boolean).join(" \xB7 ")}</span>
    <button type="button" class="quiet small" aria-label=${`Delete ${e.name}`} onClick=${()=>{n(()=>g(e),"Deleted.")}}>Delete</button>
  </li>`}function x({t:e,asOf:n,...a}){return e===void 0?n??JSON.stringify(a):`t ${e}`}export{T as SavedQueries};
