import{b as w}from"./part-UVVRTPSV.js";import{A as g,c as y,d,e as $}from"./part-VWBY6ZJU.js";import"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{a as o}from"./part-BGX5RPQL.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import"./part-C3FHAUT3.js";import"./part-5SBNPJNF.js";import"./part-E36UJHIO.js";import"./part-XTEOP6XV.js";import"./part-ZJ7BM5PU.js";import"./part-VTCKWQW5.js";import{d as p,f as m,h as a}from"./part-ST7TEUSA.js";function H(){let[s,l]=p(""),c=a(null),i=a(null);m(()=>queueMicrotask(()=>i.current?.focus()),[]);let u=y.value,E=s.toLowerCase().split(/\s+/).filter(Boolean),n=u.filter(t=>E.every(e=>b(t).includes(e))),f=t=>{w(),g(t)};return o`
    <div class="stack" onKeyDown=${t=>{let e=[...c.current?.querySelectorAll("button")??[]],r=e.indexOf(t.target);if(t.key==="ArrowDown")e[r+1]?.focus();else if(t.key==="ArrowUp")(r>0?e[r-1]:i.current)?.focus();else if(t.key==="Enter"&&r<0&&n[0])f(n[0]);else return;t.preventDefault()}}>
      <label class="search">Search <input ref=${i} type="search" value=${s} onInput=${t=>l(t.target.value)} /></label>
      <p class="note" role="status">${n.length.toLocaleString()} of ${u.length.toLocaleString()} queries, kept in this browser</p>
      <ul class="history" ref=${c}>
        ${n.map(t=>o`<li key=${$(t)}>
            <button type="button" class="quiet history-entry" onClick=${()=>f(t)}>
              <code>${t.query}</code>
              ${t.argsEdn.some(Boolean)&&o`<code class="note">${t.argsEdn.join("  ")}</code>`}
              <span class="note">${new Date(t.at).toLocaleString()} · ${t.rows.toLocaleString()} rows · ${t.ms.toFixed(1)} ms</span>
            </button>
          </li>`)}
      </ul>
      ${u.length>0&&o`<div class="row"><button type="button" class="quiet" onClick=${d}>Forget all</button></div>`}
    </div>
  `}function b({query:s,argsEdn:l}){return`${s} ${l.join(" ")}`.toLowerCase()}export{H as History};
