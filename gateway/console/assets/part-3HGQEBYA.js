import{a as p,b as d,d as w}from"./part-VMH4QTHP.js";import{a as u,b as h}from"./part-URVL2DAU.js";import{f as $}from"./part-P43GSFX7.js";import"./part-T3OXAMIR.js";import"./part-RIV7WBTE.js";import"./part-W7ENMOLN.js";import"./part-32ILYNEZ.js";import"./part-ZQD5OPBC.js";import"./part-JVFBKGFK.js";import"./part-RNKBWTX5.js";import"./part-HJLQ2EQ6.js";import{a as m}from"./part-6ELFALKW.js";import{a as t}from"./part-HKU5J7XE.js";import"./part-LZE73SPE.js";import"./part-MI5OYWOP.js";import"./part-V6THWY33.js";import"./part-IXYRAJ5W.js";import"./part-F2YTRAQD.js";import"./part-VWJQ75IG.js";import"./part-ZJ7BM5PU.js";import"./part-VTCKWQW5.js";import{d as l,f}from"./part-C5S63P6X.js";function T({answer:e,row:n}){let[o,c]=l(),[a,g]=l(),i=h(e);return f(()=>{let s=new AbortController;return u(i,n,s.signal).then(c,r=>s.signal.aborted||g(r)),()=>s.abort()},[e,n]),t`
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
