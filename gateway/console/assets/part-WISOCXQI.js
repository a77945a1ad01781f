import{a as R,b as N,d as O}from"./part-TD2YTHSK.js";import{c as S}from"./part-IPC6DJ4E.js";import{a as F}from"./part-JFLYFYVR.js";import{r as E,w as T}from"./part-VWBY6ZJU.js";import"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{a as C}from"./part-SF3TZDU3.js";import{a as $}from"./part-BGX5RPQL.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import"./part-C3FHAUT3.js";import{b as k,c as A,d as h}from"./part-5SBNPJNF.js";import{d as x}from"./part-E36UJHIO.js";import"./part-XTEOP6XV.js";import"./part-ZJ7BM5PU.js";import"./part-VTCKWQW5.js";import{d as f,f as g,h as v}from"./part-ST7TEUSA.js";async function L(e,n,l,m){let u=r=>k({...e,basis:{t:r}},m),[c,d]=await Promise.all([u(n),u(l)]),t=new Map;for(let r of c.rows){let b=JSON.stringify(r),w=t.get(b);w?w.push(r):t.set(b,[r])}let a=new Map;for(let r of d.rows)t.get(JSON.stringify(r))?.pop()===void 0&&a.set(r,"added");let s=a.size,p=[...t.values()].flat();for(let r of p)a.set(r,"retracted");let y=h(e,c.rows)||h(e,d.rows);return{answer:{...d,rows:[...p,...d.rows]},marks:a,added:s,retracted:p.length,isArbitrary:y}}function D({answer:e,marks:n}){return{...e,rows:e.rows.filter(l=>n.has(l))}}function q(){let e=O(),[n,l]=f(Math.max(0,e-1)),[m,u]=f(e),[c,d]=f(!0),[t,a]=f(),[s,p]=f(),[y,r]=f(!1),b=v(void 0);g(()=>()=>b.current?.abort(),[]),g(()=>{x().catch(()=>{})},[]);let w=(o,i)=>F(i?D(o):o.answer,o.marks),M=async()=>{b.current?.abort();let{signal:o}=b.current=new AbortController;r(!0),p(void 0);try{let i=await L(T.peek(),Math.min(n,m),Math.max(n,m),o);a(i),w(i,c)}catch(i){o.aborted||p(i)}finally{o.aborted||r(!1)}};return g(()=>{M()},[E.value]),$`
    <form class="row compare" onSubmit=${o=>{o.preventDefault(),M()}}>
      <${I} label="From" t=${n} newest=${e} onChange=${l} />
      <${I} label="To" t=${m} newest=${e} onChange=${u} />
      <button type="submit" disabled=${y}>Compare</button>
      <label><input type="checkbox" checked=${c} onChange=${o=>{let i=o.target.checked;d(i),t&&w(t,i)}} /> Only what differs</label>
      <span role="status">${t&&!y&&$`<span class="came">${t.added.toLocaleString()} added</span>, <span class="went">${t.retracted.toLocaleString()} retracted</span>`}</span>
    </form>
    ${t?.isArbitrary&&!y&&$`<p class="note">${A}</p>`}
    <${C} error=${s} />
  `}function I({label:e,t:n,newest:l,onChange:m}){let[u,c]=f(),d=a=>{let s=Number(a.target.value);s>=0&&m(Math.min(s,l))},t=a=>{let s=new Date(a.target.value);c(void 0),Number.isNaN(s.getTime())||S(s).then(m,c)};return $`
    <fieldset class="moment-field">
      <legend>${e}</legend>
      <label>t <input type="number" class="t" min="0" max=${l} value=${n} onChange=${d} /></label>
      <${N} t=${n} />
      <input type="datetime-local" step="1" aria-label=${`${e}: a date and time`} max=${R(new Date)} onChange=${t} />
      <${C} error=${u} />
    </fieldset>
  `}export{q as Changes};
