import{a as p,b as d,d as w}from"./part-VK5PNP6C.js";import{a as u,b as h}from"./part-3GAYDXTZ.js";import{f as $}from"./part-GJOCZJZ7.js";import"./part-LJZ7Y7LB.js";import"./part-7VBUNBJ5.js";import"./part-UVVRTPSV.js";import"./part-H44NLXYV.js";import"./part-IPC6DJ4E.js";import"./part-VWBY6ZJU.js";import"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{a as m}from"./part-SF3TZDU3.js";import{a as t}from"./part-BGX5RPQL.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import"./part-C3FHAUT3.js";import"./part-5SBNPJNF.js";import"./part-E36UJHIO.js";import"./part-XTEOP6XV.js";import"./part-ZJ7BM5PU.js";import"./part-VTCKWQW5.js";import{d as l,f}from"./part-ST7TEUSA.js";function T({answer:e,row:n}){let[o,c]=l(),[a,g]=l(),i=h(e);return f(()=>{let s=new AbortController;return u(i,n,s.signal).then(c,r=>s.signal.aborted||g(r)),()=>s.abort()},[e,n]),t`
    <dl class="facts">
      ${e.columns.map(({name:s},r)=>t`<dt key=${r}>${s}</dt><dd>${$(n[r])||"nil"}</dd>`)}
    </dl>
    <${m} error=${a} />
    ${a===void 0&&o===void 0&&t`<p class="note" role="status">Asking why…</p>`}
    ${o?.holds===!1&&t`<${d} question=${i} failed=${o} />`}
    ${o?.holds===!0&&t`
      <p class="note" role="status">
        The row follows from ${o.steps.length} ${o.steps.length===1?"step":"steps"}, at t ${e.basisT}.
        ${o.rows>1&&` It has ${o.rows.toLocaleString()} derivations or rows of its group; this is one of them.`}
      </p>
      <${p} label="What the row follows from" roots=${w(i,o.steps)} />
    `}
  `}export{T as Why};
