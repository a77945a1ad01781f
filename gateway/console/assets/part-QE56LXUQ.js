import{a as p,b as d,d as w}from"./part-PDJ54JGU.js";import{a as u,b as h}from"./part-VQHQUYEJ.js";import{f as $}from"./part-YASVWELG.js";import"./part-2KF6VXRP.js";import"./part-QHEBMXJB.js";import"./part-NEIUQMN6.js";import"./part-MFT7SZWM.js";import"./part-KUYA4U5S.js";import"./part-QU72OV5I.js";import"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{a as m}from"./part-PQQ22TZ7.js";import{a as t}from"./part-H5APD4YT.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import"./part-56TO7VDT.js";import"./part-FPYWINVB.js";import"./part-5H6WSBG3.js";import"./part-CNZ6Q6GD.js";import"./part-ZJ7BM5PU.js";import"./part-VTCKWQW5.js";import{d as l,f}from"./part-RZWRK72K.js";function T({answer:e,row:n}){let[o,c]=l(),[a,g]=l(),i=h(e);return f(()=>{let s=new AbortController;return u(i,n,s.signal).then(c,r=>s.signal.aborted||g(r)),()=>s.abort()},[e,n]),t`
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
