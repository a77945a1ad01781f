import{a as h,b as w,d as v}from"./part-VK5PNP6C.js";import{a as y,b as g}from"./part-3GAYDXTZ.js";import"./part-7VBUNBJ5.js";import"./part-UVVRTPSV.js";import"./part-H44NLXYV.js";import"./part-IPC6DJ4E.js";import"./part-VWBY6ZJU.js";import"./part-DAQGICZE.js";import"./part-HJLQ2EQ6.js";import{a as $}from"./part-SF3TZDU3.js";import{a as r}from"./part-BGX5RPQL.js";import"./part-XVFH4FSZ.js";import"./part-6D7OL7PE.js";import"./part-C3FHAUT3.js";import"./part-5SBNPJNF.js";import"./part-E36UJHIO.js";import"./part-XTEOP6XV.js";import"./part-ZJ7BM5PU.js";import"./part-VTCKWQW5.js";import{d as m,f as p,h as d,k as b}from"./part-ST7TEUSA.js";function T({answer:o}){let n=b(),[t,f]=m(),[k,c]=m(),u=d(void 0);p(()=>()=>u.current?.abort(),[]);let i=g(o);return r`
    <form class="stack why-not" onSubmit=${s=>{s.preventDefault();let a=new FormData(s.target);u.current?.abort();let{signal:e}=u.current=new AbortController,S=o.columns.map(({type:l},I)=>O(String(a.get(`column-${I}`)??""),l));f(void 0),c(void 0),y(i,S,e).then(f,l=>e.aborted||c(l))}}>
      <p class="note">Which row would you expect? Its cells as the table shows them; an entity by its number.</p>
      ${o.columns.map(({name:s,type:a},e)=>r`
          <div key=${e}>
            <label for=${`${n}-${e}`}><code>${s}</code> <span class="note">${a}</span></label>
            <input id=${`${n}-${e}`} name=${`column-${e}`} autocomplete="off" />
          </div>
        `)}
      <div class="row"><button type="submit">Why not</button></div>
    </form>
    <${$} error=${k} />
    ${t?.holds===!1&&r`<${w} question=${i} failed=${t} />`}
    ${t?.holds===!0&&r`
      <p role="status">The answer has this row. It follows from:</p>
      <${h} label="What the row follows from" roots=${v(i,t.steps)} />
    `}
  `}function O(o,n){if(o==="nil")return null;if(["string","keyword","symbol","uuid","instant","uri","bytes"].includes(n))return o;try{let t=JSON.parse(o);return typeof t=="number"&&Number.isInteger(t)&&!Number.isSafeInteger(t)?o:t}catch{return o}}export{T as WhyNot,O as cellOf};
