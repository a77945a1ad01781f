import{a as k,b as v,c as C,d as b}from"./part-FE22MOKL.js";import"./part-2XNXSVCA.js";import{b as A}from"./part-2KF6VXRP.js";import"./part-WM2A6F6X.js";import"./part-NEIUQMN6.js";import{a as u}from"./part-H5APD4YT.js";import{a as S,c as $}from"./part-7PNDONP5.js";import{a as h,b as f}from"./part-TSUFEJYE.js";import"./part-R45ROGHT.js";import"./part-VTCKWQW5.js";import{d as y,g}from"./part-RZWRK72K.js";function m(o,s,a){let i=URL.createObjectURL(new Blob([s],{type:a})),c=document.createElement("a");c.href=i,c.download=o,c.click(),URL.revokeObjectURL(i)}async function O(o){await navigator.clipboard.writeText(o)}var d="application/vnd.apache.arrow.stream";async function R(o){let{basis:s}=A(o),a={...o.question,basis:{...o.question.basis,...s}},i={"Content-Type":"application/json",Accept:d};f.value&&(i.Authorization=`Bearer ${f.value}`);let c=JSON.stringify({query:$("q","{ arrow }"),variables:S(a)}),n=await fetch(h,{method:"POST",headers:i,body:c});if(!n.headers.get("Content-Type")?.startsWith(d)){let{errors:p}=await n.json();throw new Error(p?.[0]?.message??"the server has sent no Arrow stream")}let r=await n.arrayBuffer(),t=n.headers.get("Adalog-Arrow-Bytes");return t===null?r:r.slice(0,Number(t))}function U({answer:o}){let s=g(null),[a,i]=y(!0),[c,n]=y(""),{columns:r,rows:t}=o,p=(e,l)=>async()=>{n("");try{await l(),n(e)}catch(w){n(w instanceof Error?w.message:String(w))}},j=[["CSV",()=>m("answer.csv",v(r,t,{isGuarded:a}),"text/csv")],["JSON",()=>m("answer.json",b(r,t),"application/json")],["Arrow",async()=>m("answer.arrows",await R(o),d)]],x=[["Tab-separated",()=>k(r,t)],["Markdown",()=>C(r,t)],["CSV",()=>v(r,t,{isGuarded:a})],["JSON",()=>b(r,t)]];return u`
    <details class="menu" ref=${s} onKeyDown=${e=>{e.key!=="Escape"||!s.current?.open||(s.current.open=!1,s.current.querySelector("summary")?.focus(),e.stopPropagation())}}>
      <summary>Save or copy</summary>
      <div class="menu-content stack">
        <div class="row" role="group" aria-label="Save as">
          <span>Save as</span>
          ${j.map(([e,l])=>u`<button type="button" key=${e} class="quiet small" onClick=${p(`Saved as ${e}.`,l)}>${e}</button>`)}
        </div>
        <div class="row" role="group" aria-label="Copy as">
          <span>Copy as</span>
          ${x.map(([e,l])=>u`<button type="button" key=${e} class="quiet small" onClick=${p(`Copied as ${e}.`,()=>O(l()))}>${e}</button>`)}
        </div>
        <label>
          <input type="checkbox" checked=${a} onChange=${()=>i(!a)} />
          In CSV, an apostrophe before texts that a spreadsheet would run as formulas
        </label>
        <p class="note" role="status">${c}</p>
      </div>
    </details>
  `}export{U as SaveMenu};
