import{b as v}from"./part-QBBDPLLE.js";import"./part-LJZ7Y7LB.js";import{a as c}from"./part-DAQGICZE.js";import{a as x}from"./part-SF3TZDU3.js";import{a}from"./part-BGX5RPQL.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import{a as b,e as w}from"./part-5SBNPJNF.js";import{f as g}from"./part-XTEOP6XV.js";import"./part-ZJ7BM5PU.js";import"./part-VTCKWQW5.js";import{d,f as p}from"./part-ST7TEUSA.js";var h=/(?<![\w.*+!?/-])\?[\w.*+!?/<>=-]+/g;function S({query:e}){let{sections:n}=c(e),o=new Set((n.get(":in")??[]).join(" ").match(h)),t=[...n.get(":find")??[],...n.get(":where")??[]].join(" ").match(h)??[];return[...new Set(t)].filter(r=>!o.has(r))}function E(e,n,o){let t=new Map(c(e.query).sections);t.set(":in",[...t.get(":in")??["$"],n]);let r=[...t].map(([i,l])=>`${i} ${l.join(" ")}`).join(`
 `);return{...e,query:`[${r}]`,argsEdn:[...e.argsEdn,o]}}function $({columns:e,rows:n},o){let t=e.findIndex(({name:i})=>i===o),r=n[0]?.[t];return r==null?"":j(r,e[t]?.type)}function j(e,n){return typeof e=="number"||typeof e=="boolean"?String(e):typeof e!="string"?"":n==="keyword"||n==="symbol"||n==="ref"||n==="long"||n==="bigint"?e:n==="instant"?`#inst ${JSON.stringify(e)}`:n==="uuid"?`#uuid ${JSON.stringify(e)}`:JSON.stringify(e)}var M=w("explain","{ text plan }",{analyze:"Boolean!"});async function L(e,n,o){return(await g(M,{...b(e),analyze:n},o)).explain}function k({plan:e}){let n=Math.max(1,...e.levels.map(({estimate:t,actual:r})=>Math.max(t,r?.rows??0))),o=Math.max(.001,...e.levels.map(({actual:t})=>t?.ms??0));return a`
    ${e.rules.map(t=>a`<${A} key=${t.stratum} stratum=${t} />`)}
    <ol class="plan-levels">
      ${e.levels.map(t=>a`<${C} key=${t.variable} level=${t} rows=${n} ms=${o} />`)}
    </ol>
  `}function A({stratum:{stratum:e,recursive:n,relations:o,rules:t,actual:r}}){return a`
    <details class="plan-stratum">
      <summary>
        <strong>Stratum ${e}</strong>: ${o.map(({name:i})=>i).join(", ")}${n?", recursive":""}
        ${r&&a`<span class="note"> ${q(r.rows)} in ${r.ms.toFixed(1)} ms${r.rounds.length>1?`, rounds of ${r.rounds.join(", ")}`:""}${r.how?`, ${r.how}`:""}</span>`}
      </summary>
      <ul class="plan-clauses">
        ${t.map(({when:i,clause:l,order:s},m)=>a`<li key=${m}><span class="note">${i}</span> <code>${l}</code> <span class="note">order ${s.join(" ")}</span></li>`)}
      </ul>
    </details>
  `}function q(e){return Object.values(e).map(n=>`${n.toLocaleString()} rows`).join(", ")}function C({level:{variable:e,propose:n,filter:o,estimate:t,actual:r},rows:i,ms:l}){return a`
    <li>
      <code class="plan-variable">${e}</code>
      <${f} label="expected" value=${t} most=${i} unit=${t===1?"prefix":"prefixes"} />
      ${r&&a`<${f} label="actual" value=${r.rows} most=${i} unit=${`of ${r.candidates.toLocaleString()} candidates`} />`}
      ${r&&a`<${f} label="time" value=${r.ms} most=${l} unit="ms" />`}
      <ul class="plan-clauses">
        ${n.map(s=>a`<li key=${s}><span class="note">proposes or intersects</span> <code>${s}</code></li>`)}
        ${o.map(s=>a`<li key=${s}><span class="note">filters</span> <code>${s}</code></li>`)}
      </ul>
    </li>
  `}function f({label:e,value:n,most:o,unit:t}){let r=n.toLocaleString("en",{maximumFractionDigits:n<10?2:0});return a`
    <div class="plan-bar">
      <span class="note">${e}</span>
      <span class="plan-track"><span class=${`plan-fill ${e}`} style=${{width:`${Math.max(.5,100*n/o)}%`}}></span></span>
      <span class="number">${r} ${t}</span>
    </div>
  `}function G({answer:e}){let{question:n}=e,[o,t]=d(!1),[r,i]=d();return p(()=>{t(!1),i(void 0)},[n]),a`
    <div class="plan">
      <div class="row">
        <button type="button" onClick=${()=>t(!0)} disabled=${o}>Run and measure</button>
        <${P} answer=${e} onChosen=${(l,s)=>i({title:`With ${l} = ${s}`,question:E(n,l,s)})} />
      </div>
      <div class="plans">
        <${O} title="As asked" question=${n} isMeasured=${o} />
        ${r&&a`<${O} key=${r.title} title=${r.title} question=${r.question} isMeasured=${o} />`}
      </div>
    </div>
  `}function P({answer:e,onChosen:n}){let o=S(e.question),[t,r]=d(o[0]??""),[i,l]=d($(e,t));return o.length===0?null:a`
    <form class="row" onSubmit=${u=>{u.preventDefault(),n(t,i)}}>
      <label>If <select value=${t} onChange=${u=>{let y=u.target.value;r(y),l($(e,y))}}>${o.map(u=>a`<option key=${u}>${u}</option>`)}</select></label>
      <label>were <input class="code" required placeholder="EDN" value=${i} onInput=${u=>l(u.target.value)} /></label>
      <button type="submit" class="quiet">Compare</button>
    </form>
  `}function O({title:e,question:n,isMeasured:o}){let[t,r]=d(),[i,l]=d();p(()=>{let m=new AbortController;return l(void 0),L(n,o,m.signal).then(r,u=>!m.signal.aborted&&l(u)),()=>m.abort()},[n,o]);let s=t?.plan;return a`
    <section aria-label=${`Plan: ${e}`}>
      <h3>${e}</h3>
      <${x} error=${i} />
      ${s===void 0&&!i&&a`<p class="note" role="status">Planning…</p>`}
      ${s&&t&&a`
        <p role="status">
          ${s.engine.toLowerCase()}: ${s.reason}. Order <code>${s.order.join(" ")}</code>, cost ${s.cost.toLocaleString("en",{maximumFractionDigits:0})}, about
          ${" "}${s.estimatedRows.toLocaleString("en",{maximumFractionDigits:0})} rows expected${s.rows===void 0?"":`, ${s.rows.toLocaleString()} rows in ${(s.elapsedMs??0).toFixed(1)} ms`}.
          ${" "}Live: ${s.live.how}${s.live.reason?` (${s.live.reason})`:""}.
        </p>
        <${k} plan=${s} />
        <details>
          <summary>As text</summary>
          <pre class="plan-text" tabindex="0" aria-label="Plan as text">${t.text}</pre>
          <button type="button" class="quiet" onClick=${()=>{v(t.text)}}>Copy</button>
        </details>
      `}
    </section>
  `}export{G as Plan};
