import{b as M}from"./part-APBLB4GF.js";import{a as A}from"./part-ENUQAHR5.js";import{b as x,c as O,d as S}from"./part-FJ6BZCQO.js";import{a as b}from"./part-E2GJ4IGD.js";import{b as k,c as D}from"./part-LJZ7Y7LB.js";import{b as h}from"./part-7VBUNBJ5.js";import"./part-UVVRTPSV.js";import{a as L}from"./part-SF3TZDU3.js";import{a as l}from"./part-BGX5RPQL.js";import{a as E}from"./part-E36UJHIO.js";import{f as v}from"./part-XTEOP6XV.js";import"./part-ZJ7BM5PU.js";import"./part-VTCKWQW5.js";import{d as m,f as a,h as g,i as u}from"./part-ST7TEUSA.js";var J='query ($eid: EDN!, $basis: BasisInput, $with: EDN, $as: AsInput) { pull(pattern: "[*]", eid: $eid, basis: $basis, with: $with, as: $as) }';function K({answer:n}){let i=u(()=>k(n),[n]),c=g(null),p=g(void 0),r=u(()=>x(n),[n]),[$,w]=m([]),[d,C]=m(new Map),[N,y]=m(),e=u(()=>O([...r.edges,...$],2*500),[r,$]);a(()=>w([]),[n]),a(()=>{let t=new AbortController,o=e.nodes.filter(s=>!d.has(s));return M(o,i,t.signal).then(s=>C(I=>new Map([...I,...s])),s=>t.signal.aborted||y(s)),()=>t.abort()},[e,E.value]);let f=t=>d.get(t)?.text??t;a(()=>{if(!c.current)return;let t=p.current=A(c.current,o=>h(o,i));return()=>{t.remove(),p.current=void 0}},[n,b.value]),a(()=>p.current?.show(e,f),[e,d,n,b.value]);let q=async t=>{try{let{pull:o}=await v(J,{eid:t,...D(i)});w(s=>[...s,...S(o)])}catch(o){y(o)}},G=`Graph of ${e.nodes.length} entities and ${e.edges.length} references. The list below it has its entities.`;return l`
    <div class="graph">
      <${L} error=${N} />
      ${r.total>r.nodes.length&&l`<p class="note">The first ${500} of ${r.total.toLocaleString()} entities are shown.</p>`}
      <div class="graph-host" ref=${c} role="img" aria-label=${G}></div>
      <details class="graph-list">
        <summary>${e.nodes.length.toLocaleString()} entities</summary>
        <ul class="values">
          ${e.nodes.map(t=>l`
              <li key=${t} class="row">
                <button type="button" class="ref" onClick=${()=>h(t,i)}>${f(t)}</button>
                <button type="button" class="quiet small" aria-label=${`Expand ${f(t)}`} onClick=${()=>{q(t)}}>Expand</button>
              </li>
            `)}
        </ul>
      </details>
    </div>
  `}export{K as Graph};
