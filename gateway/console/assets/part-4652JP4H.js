import{a as t,b as g,c as y,d as w,e as v}from"./part-QBBDPLLE.js";import{a as $,b as d,c as f,d as m}from"./part-WNXJMTH6.js";import"./part-GJOCZJZ7.js";import"./part-LJZ7Y7LB.js";import"./part-7VBUNBJ5.js";import"./part-UVVRTPSV.js";import{a as i}from"./part-BGX5RPQL.js";import"./part-5SBNPJNF.js";import"./part-XTEOP6XV.js";import"./part-ZJ7BM5PU.js";import"./part-VTCKWQW5.js";import{d as u,h as b}from"./part-ST7TEUSA.js";function D({answer:c}){let r=b(null),[n,k]=u(!0),[C,p]=u(""),{columns:a,rows:s}=c,S=(e,o)=>async()=>{p("");try{await o(),p(e)}catch(l){p(l instanceof Error?l.message:String(l))}},h=[["CSV",()=>t("answer.csv",d(a,s,{isGuarded:n}),"text/csv")],["JSON",()=>t("answer.json",m(a,s),"application/json")],["Parquet",async()=>t("answer.parquet",await v(c,w),w.type)],["Arrow",async()=>t("answer.arrows",await v(c,y),y.type)]],q=[["Tab-separated",()=>$(a,s)],["Markdown",()=>f(a,s)],["CSV",()=>d(a,s,{isGuarded:n})],["JSON",()=>m(a,s)]];return i`
    <details class="menu" ref=${r} onKeyDown=${e=>{e.key!=="Escape"||!r.current?.open||(r.current.open=!1,r.current.querySelector("summary")?.focus(),e.stopPropagation())}}>
      <summary>Save or copy</summary>
      <div class="menu-content stack">
        <div class="row" role="group" aria-label="Save as">
          <span>Save as</span>
          ${h.map(([e,o])=>i`<button type="button" key=${e} class="quiet small" onClick=${S(`Saved as ${e}.`,o)}>${e}</button>`)}
        </div>
        <div class="row" role="group" aria-label="Copy as">
          <span>Copy as</span>
          ${q.map(([e,o])=>i`<button type="button" key=${e} class="quiet small" onClick=${S(`Copied as ${e}.`,()=>g(o()))}>${e}</button>`)}
        </div>
        <label>
          <input type="checkbox" checked=${n} onChange=${()=>k(!n)} />
          In CSV, an apostrophe before texts that a spreadsheet would run as formulas
        </label>
        <p class="note" role="status">${C}</p>
      </div>
    </details>
  `}export{D as SaveMenu};
