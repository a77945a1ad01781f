import{b as g}from"./part-NEIUQMN6.js";import{a as v,b,c as f,d as $,e as h,g as y,h as k}from"./part-PL6PDE7R.js";import{u as S}from"./part-LLVG6Z7P.js";import"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{b as u,c}from"./part-56TO7VDT.js";import{a as w}from"./part-PQQ22TZ7.js";import{a as t}from"./part-H5APD4YT.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import"./part-7PNDONP5.js";import{c as d,f as p}from"./part-MYFEB7IN.js";import"./part-TSUFEJYE.js";import"./part-R45ROGHT.js";import"./part-VTCKWQW5.js";import{d as l,f as m}from"./part-RZWRK72K.js";function H(){let[e,s]=l(),[i,a]=l(""),n=async(r,o="")=>{s(void 0),a("");try{await r(),a(o)}catch(q){s(q)}};return m(()=>{n(h)},[]),t`
    <div class="stack">
      <${w} error=${e} />
      <p class="note" role="status">${i}</p>
      ${b()?t`<${A} attempt=${n} />`:t`<${D} attempt=${n} />`}
      <ul class="history" aria-label="Saved queries">
        ${v.value.map(r=>t`<${E} key=${r.id} each=${r} attempt=${n} />`)}
      </ul>
    </div>
  `}function D({attempt:e}){return!p()&&d.value?.roles.includes("write")!==!0?t`<p class="note">Saved queries are kept in the database, which has no attributes for them yet. An admin installs them here.</p>`:t`
    <p>Saved queries are kept in this database. It has no attributes for them yet; these would be declared:</p>
    <pre class="typed-graphql" tabindex="0"><code>${f().join(`
`)}</code></pre>
    <div class="row"><button type="button" onClick=${()=>{e($,"Declared.")}}>Declare them</button></div>
  `}function A({attempt:e}){return t`
    <form class="stack" aria-label="Save the query in the editor" onSubmit=${i=>{i.preventDefault();let a=i.target,n=new FormData(a),r=o=>String(n.get(o)??"").trim();e(async()=>{await y(S.peek(),r("name"),r("description"),n.has("shared")),a.reset()},"Saved.")}}>
      <label class="search">Name <input name="name" required maxlength="200" /></label>
      <label class="search">Description <input name="description" maxlength="2000" /></label>
      <label><input type="checkbox" name="shared" /> Every identity may see it</label>
      <div class="row"><button type="submit">Save the query</button></div>
    </form>
  `}function E({each:e,attempt:s}){let i=a=>{a.preventDefault(),g(),c("ask",{saved:e.id})};return t`<li class="saved">
    <a href=${u("ask",{saved:e.id})} onClick=${i}>${e.name}</a>
    ${e.description&&t`<p class="note">${e.description}</p>`}
    <code>${e.query}</code>
    <span class="note">${[e.owner,e.created&&new Date(e.created).toLocaleString()].filter(Boolean).join(" \xB7 ")}</span>
    <button type="button" class="quiet small" aria-label=${`Delete ${e.name}`} onClick=${()=>{s(()=>k(e),"Deleted.")}}>Delete</button>
  </li>`}export{H as SavedQueries};
