import{a as i,b,c as $,d as f}from"./part-ZA5SE77S.js";import{a as v,b as u,c as S,d}from"./part-OPBLLXEI.js";import"./part-MPM2MG3W.js";import"./part-2KF6VXRP.js";import"./part-4VQ6OVIT.js";import"./part-NEIUQMN6.js";import{a as n}from"./part-H5APD4YT.js";import"./part-7PNDONP5.js";import"./part-TSUFEJYE.js";import"./part-R45ROGHT.js";import"./part-VTCKWQW5.js";import{d as p,g as w}from"./part-RZWRK72K.js";function K({answer:m}){let r=w(null),[t,g]=p(!0),[k,c]=p(""),{columns:s,rows:o}=m,y=(e,a)=>async()=>{c("");try{await a(),c(e)}catch(l){c(l instanceof Error?l.message:String(l))}},C=[["CSV",()=>i("answer.csv",u(s,o,{isGuarded:t}),"text/csv")],["JSON",()=>i("answer.json",d(s,o),"application/json")],["Arrow",async()=>i("answer.arrows",await f(m),$)]],h=[["Tab-separated",()=>v(s,o)],["Markdown",()=>S(s,o)],["CSV",()=>u(s,o,{isGuarded:t})],["JSON",()=>d(s,o)]];return n`
    <details class="menu" ref=${r} onKeyDown=${e=>{e.key!=="Escape"||!r.current?.open||(r.current.open=!1,r.current.querySelector("summary")?.focus(),e.stopPropagation())}}>
      <summary>Save or copy</summary>
      <div class="menu-content stack">
        <div class="row" role="group" aria-label="Save as">
          <span>Save as</span>
          ${C.map(([e,a])=>n`<button type="button" key=${e} class="quiet small" onClick=${y(`Saved as ${e}.`,a)}>${e}</button>`)}
        </div>
        <div class="row" role="group" aria-label="Copy as">
          <span>Copy as</span>
          ${h.map(([e,a])=>n`<button type="button" key=${e} class="quiet small" onClick=${y(`Copied as ${e}.`,()=>b(a()))}>${e}</button>`)}
        </div>
        <label>
          <input type="checkbox" checked=${t} onChange=${()=>g(!t)} />
          In CSV, an apostrophe before texts that a spreadsheet would run as formulas
        </label>
        <p class="note" role="status">${k}</p>
      </div>
    </details>
  `}export{K as SaveMenu};
