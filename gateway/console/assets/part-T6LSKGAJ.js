import{a as $,b as d,c as u,d as h,e as w}from"./part-DI525VEV.js";import{c as p}from"./part-YOZY7THZ.js";import"./part-YY3QJFC3.js";import"./part-HOANLM23.js";import"./part-LQRZIKNB.js";import{a as m}from"./part-HTU5ZZS3.js";import{a as t}from"./part-QKLDYHXV.js";import"./part-JLDHNFCA.js";import"./part-HJLQ2EQ6.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import"./part-36OQ73F2.js";import"./part-KGLC7FDX.js";import"./part-R45ROGHT.js";import"./part-VTCKWQW5.js";import{c as l,e as f}from"./part-Z7GPKOMW.js";function T({answer:e,row:n}){let[o,c]=l(),[a,g]=l(),i=h(e);return f(()=>{let s=new AbortController;return u(i,n,s.signal).then(c,r=>s.signal.aborted||g(r)),()=>s.abort()},[e,n]),t`
    <dl class="facts">
      ${e.columns.map(({name:s},r)=>t`<dt key=${r}>${s}</dt><dd>${p(n[r])||"nil"}</dd>`)}
    </dl>
    <${m} error=${a} />
    ${a===void 0&&o===void 0&&t`<p class="note" role="status">Asking why…</p>`}
    ${o?.holds===!1&&t`<${d} question=${i} failed=${o} />`}
    ${o?.holds===!0&&t`
      <p class="note" role="status">
        The row follows from ${o.steps.length} ${o.steps.length===1?"step":"steps"}, at t ${e.basisT}.
        ${o.rows>1&&` It has ${o.rows.toLocaleString()} derivations or rows of its group; this is one of them.`}
      </p>
      <${$} label="What the row follows from" roots=${w(i,o.steps)} />
    `}
  `}export{T as Why};
