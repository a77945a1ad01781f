import{b as C}from"./part-WM2A6F6X.js";import{a as O}from"./part-MFT7SZWM.js";import{a as Q}from"./part-VCD5BEYA.js";import{d as v,k as D}from"./part-JMNUNGTM.js";import{a}from"./part-H5APD4YT.js";import{e as j}from"./part-MYFEB7IN.js";import{a as A,c as L}from"./part-7PNDONP5.js";import{f as R}from"./part-TSUFEJYE.js";import{d as T,f as S,g as M}from"./part-RZWRK72K.js";function B({label:n,roots:e}){let r=M(null),[s,i]=T(new Map),[l,c]=T("0"),p=new Map,m=(o,t)=>i(u=>new Map(u).set(o,t)),w=(o,t)=>{let u=s.get(o);if(u!==void 0)return u;let d=t.isOpen?t.below?.():void 0;return d===void 0||d instanceof Promise?"closed":d},y=(o,t)=>{let u=t.below?.();if(u!==void 0){if(!(u instanceof Promise)){m(o,u);return}m(o,"loading"),u.then(d=>m(o,d),d=>m(o,d instanceof Error?d:new Error(String(d))))}},g=o=>{let t=p.get(o);t?.below!==void 0&&(w(o,t)==="closed"?y(o,t):m(o,"closed"))},x=(o,t,u,d,h)=>{p.set(t,o);let f=w(t,o),b=f==="closed";return a`
      <li
        key=${t}
        role="treeitem"
        data-path=${t}
        aria-level=${u}
        aria-posinset=${d+1}
        aria-setsize=${h}
        aria-expanded=${o.below&&!b}
        aria-selected=${l===t}
        tabindex=${l===t?0:-1}
      >
        <div class="tree-line" onClick=${k=>W(k,t)}>
          <span class="tree-mark" aria-hidden="true">${o.below?b?"\u25B8":"\u25BE":""}</span>
          <div class="tree-content">${o.content}</div>
        </div>
        ${f==="loading"&&a`<p class="note" role="status">Loading…</p>`}
        ${f instanceof Error&&a`<p class="error" role="alert">${f.message}</p>`}
        ${Array.isArray(f)&&a`<ul role="group">${f.map((k,N)=>x(k,`${t}.${N}`,u+1,N,f.length))}</ul>`}
      </li>
    `},W=(o,t)=>{o.target.closest("button, a, input")||($(t),g(t))},$=o=>{o!==void 0&&(c(o),r.current?.querySelector(`[data-path="${o}"]`)?.focus())};return a`
    <ul class="tree" role="tree" aria-label=${n} ref=${r} onKeyDown=${o=>{if(o.target.getAttribute("role")!=="treeitem"||o.ctrlKey||o.altKey||o.metaKey)return;let t=o.target.dataset.path??"0",u=p.get(t),d=[...r.current?.querySelectorAll("[role=treeitem]")??[]].map(b=>b.dataset.path??""),h=d.indexOf(t),f=u?.below!==void 0&&w(t,u)!=="closed";switch(o.key){case"ArrowDown":$(d[h+1]);break;case"ArrowUp":$(d[h-1]);break;case"Home":$(d[0]);break;case"End":$(d.at(-1));break;case"ArrowRight":f?$(d.find(b=>b===`${t}.0`)):g(t);break;case"ArrowLeft":f?g(t):t.includes(".")&&$(t.slice(0,t.lastIndexOf(".")));break;case"Enter":case" ":g(t);break;default:return}o.preventDefault(),o.stopPropagation()}}>
      ${e.map((o,t)=>x(o,`${t}`,1,t,e.length))}
    </ul>
  `}function ae({question:n,failed:e}){let{clause:r,line:s,column:i,why:l,fails:c}=e,p=s!==void 0&&i!==void 0&&D.value===n.query;return S(()=>{if(p)return O.value={text:n.query,line:s,column:i,message:"No row passes this clause together with those before it."},()=>{O.value=void 0}},[p,n.query,s,i]),a`
    <div role="status">
      <p>The answer has no such row. ${l?`${l[0]?.toUpperCase()}${l.slice(1)}.`:"No row passes this clause together with those before it:"}</p>
      ${r&&a`<pre class="clause">${r}</pre>`}
      ${p&&a`<p class="note">It is underlined in the editor, at line ${s}, column ${i}.</p>`}
    </div>
    <${K} values=${e.with} />
    ${c!==void 0&&c.length>0&&a`<h3>Why no rule of it holds</h3><${B} label="Rules that do not hold" roots=${c.map(F)} />`}
  `}function F(n){let{rule:e,why:r,clause:s,fails:i,more:l}=n;return{content:a`
    <span class="kind">rule</span> <code>${e}</code>
    <p class="note">${r??(l?"There is no space for more.":"No row passes ")}${s&&a`<code>${s}</code>`}</p>
    <${K} values=${n.with} />
  `,below:i&&i.length>0?()=>i.map(F):void 0}}function K({values:n={}}){let e=Object.entries(n);return e.length===0?null:a`<p class="with">with ${e.map(([r,s])=>a`<code key=${r}>${r} = ${s}</code> `)}</p>`}var J=L("why","",{row:"[JSON]!"});async function P(n,e,r){return(await R(J,{...A(n),row:e},r)).why}function ue({question:n,basisT:e}){let{basis:r,with:s}=n;return s||r?.asOf!==void 0?n:{...n,basis:{...r,t:e}}}async function H(n,e,r){let{sections:s,inputs:i}=v(n.query),l=s.get(":rules"),c=i.flatMap(({text:y},g)=>y.startsWith("$")||y==="%"?[g]:[]),p=["[:find ?holds",...c.length>0?[`:in $ ${c.map(y=>i[y]?.text).join(" ")}`]:[],...l?[`:rules ${l.join(" ")}`]:[],`:where [(ground true) ?holds] ${e}]`].join(" "),m=await P({...n,query:p,argsEdn:c.map(y=>n.argsEdn[y]??"")},[!0],r),w=m.holds?m.steps.at(-1):void 0;if(w===void 0)throw new Error(`the server finds no reason for ${e} any more`);return w}function q(n,e){return e.map(r=>I(n,r))}function I(n,e){return{content:z(e),below:U(n,e)}}function U(n,e){let{steps:r,fact:s}=e;if(r!==void 0){let i=q(n,r);if(e.rule===void 0||e.rule===null)return()=>i;let l={content:X(e.rule,e.with),below:()=>i,isOpen:!0};return()=>[l]}if(!(!e.more||!s?.startsWith("(")))return async()=>{let i=await H(n,s),l=U(n,{...e,...i});return l===void 0?[]:l()}}function z(n){let{clause:e,fact:r,datom:s,absent:i,branch:l}=n;return a`
    <span class="kind">${V(n)}</span>
    ${s?a`<${_} datom=${s} />`:a`<code>${r??e??"what policies ask for"}</code>`}
    ${i&&a`<span class="note"> holds: nothing matches</span>`}
    ${l!==void 0&&a`<span class="note"> branch ${l} holds</span>`}
    ${r&&e&&r!==e&&a`<code class="clause">${e}</code>`}
  `}function V({datom:n,rule:e,more:r,absent:s,branch:i,steps:l,clause:c}){return n?"datom":e!==void 0||r&&c?.startsWith("(")?"rule":i!==void 0?"or":s?"not":l?"and":"check"}function X(n,e={}){return a`
    <span class="kind">by</span> <code>${n}</code>
    <div class="with">${Object.entries(e).map(([r,s])=>a`<code key=${r}>${r} = ${s}</code> `)}</div>
  `}function _({datom:{e:n,a:e,v:r,t:s}}){let i=j(e)?.valueType==="ref"&&/^\d+$/.test(r);return a`<code
    >[<${E} id=${n} text=${String(n)} /> ${e} ${i?a`<${E} id=${r} text=${r} />`:r}]</code
  > ${s!=null&&a`<${E} id=${Q+Number(s)} text=${`t ${s}`} />`}`}function E({id:n,text:e}){return a`<button type="button" class="ref" onClick=${()=>C(n)}>${e}</button>`}export{B as a,ae as b,P as c,ue as d,q as e};
