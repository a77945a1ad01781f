import{a as T,b as A,d as N}from"./part-72MBJ6T2.js";import{c as S}from"./part-IPC6DJ4E.js";import{a as F}from"./part-ADJFSAYU.js";import{r as x,w as E}from"./part-NWNI4R2S.js";import"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{a as g}from"./part-SF3TZDU3.js";import{a as y}from"./part-BGX5RPQL.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import"./part-C3FHAUT3.js";import{b as v}from"./part-GJJ7KQSY.js";import{d as k}from"./part-E36UJHIO.js";import"./part-XTEOP6XV.js";import"./part-ZJ7BM5PU.js";import"./part-VTCKWQW5.js";import{d as c,f as $,h as M}from"./part-ST7TEUSA.js";async function O(t,r,m,l){let f=e=>v({...t,basis:{t:e}},l),[d,u]=await Promise.all([f(r),f(m)]),n=new Map;for(let e of d.rows){let w=JSON.stringify(e),b=n.get(w);b?b.push(e):n.set(w,[e])}let a=new Map;for(let e of u.rows)n.get(JSON.stringify(e))?.pop()===void 0&&a.set(e,"added");let s=a.size,p=[...n.values()].flat();for(let e of p)a.set(e,"retracted");return{answer:{...u,rows:[...p,...u.rows]},marks:a,added:s,retracted:p.length}}function R({answer:t,marks:r}){return{...t,rows:t.rows.filter(m=>r.has(m))}}function X(){let t=N(),[r,m]=c(Math.max(0,t-1)),[l,f]=c(t),[d,u]=c(!0),[n,a]=c(),[s,p]=c(),[e,w]=c(!1),b=M(void 0);$(()=>()=>b.current?.abort(),[]),$(()=>{k().catch(()=>{})},[]);let h=(o,i)=>F(i?R(o):o.answer,o.marks),C=async()=>{b.current?.abort();let{signal:o}=b.current=new AbortController;w(!0),p(void 0);try{let i=await O(E.peek(),Math.min(r,l),Math.max(r,l),o);a(i),h(i,d)}catch(i){o.aborted||p(i)}finally{o.aborted||w(!1)}};return $(()=>{C()},[x.value]),y`
    <form class="row compare" onSubmit=${o=>{o.preventDefault(),C()}}>
      <${L} label="From" t=${r} newest=${t} onChange=${m} />
      <${L} label="To" t=${l} newest=${t} onChange=${f} />
      <button type="submit" disabled=${e}>Compare</button>
      <label><input type="checkbox" checked=${d} onChange=${o=>{let i=o.target.checked;u(i),n&&h(n,i)}} /> Only what differs</label>
      <span role="status">${n&&!e&&y`<span class="came">${n.added.toLocaleString()} added</span>, <span class="went">${n.retracted.toLocaleString()} retracted</span>`}</span>
    </form>
    <${g} error=${s} />
  `}function L({label:t,t:r,newest:m,onChange:l}){let[f,d]=c(),u=a=>{let s=Number(a.target.value);s>=0&&l(Math.min(s,m))},n=a=>{let s=new Date(a.target.value);d(void 0),Number.isNaN(s.getTime())||S(s).then(l,d)};return y`
    <fieldset class="moment-field">
      <legend>${t}</legend>
      <label>t <input type="number" class="t" min="0" max=${m} value=${r} onChange=${u} /></label>
      <${A} t=${r} />
      <input type="datetime-local" step="1" aria-label=${`${t}: a date and time`} max=${T(new Date)} onChange=${n} />
      <${g} error=${f} />
    </fieldset>
  `}export{X as Changes};
