import{a as D}from"./part-G7XA2VGE.js";import{b as C}from"./part-6SV666EK.js";import{a as E}from"./part-MFT7SZWM.js";import{a as L}from"./part-VCD5BEYA.js";import{i as A}from"./part-LLVG6Z7P.js";import{a as x}from"./part-DAQGICZE.js";import{a as i}from"./part-H5APD4YT.js";import{e as j}from"./part-MYFEB7IN.js";import{d as T,f as S,g as v}from"./part-RZWRK72K.js";function Q({label:r,roots:e}){let o=v(null),[s,a]=T(new Map),[l,c]=T("0"),p=new Map,m=(t,n)=>a(u=>new Map(u).set(t,n)),y=(t,n)=>{let u=s.get(t);if(u!==void 0)return u;let d=n.isOpen?n.below?.():void 0;return d===void 0||d instanceof Promise?"closed":d},$=(t,n)=>{let u=n.below?.();if(u!==void 0){if(!(u instanceof Promise)){m(t,u);return}m(t,"loading"),u.then(d=>m(t,d),d=>m(t,d instanceof Error?d:new Error(String(d))))}},g=t=>{let n=p.get(t);n?.below!==void 0&&(y(t,n)==="closed"?$(t,n):m(t,"closed"))},M=(t,n,u,d,b)=>{p.set(n,t);let f=y(n,t),h=f==="closed";return i`
      <li
        key=${n}
        role="treeitem"
        data-path=${n}
        aria-level=${u}
        aria-posinset=${d+1}
        aria-setsize=${b}
        aria-expanded=${t.below&&!h}
        aria-selected=${l===n}
        tabindex=${l===n?0:-1}
      >
        <div class="tree-line" onClick=${k=>P(k,n)}>
          <span class="tree-mark" aria-hidden="true">${t.below?h?"\u25B8":"\u25BE":""}</span>
          <div class="tree-content">${t.content}</div>
        </div>
        ${f==="loading"&&i`<p class="note" role="status">Loading…</p>`}
        ${f instanceof Error&&i`<p class="error" role="alert">${f.message}</p>`}
        ${Array.isArray(f)&&i`<ul role="group">${f.map((k,O)=>M(k,`${n}.${O}`,u+1,O,f.length))}</ul>`}
      </li>
    `},P=(t,n)=>{t.target.closest("button, a, input")||(w(n),g(n))},w=t=>{t!==void 0&&(c(t),o.current?.querySelector(`[data-path="${t}"]`)?.focus())};return i`
    <ul class="tree" role="tree" aria-label=${r} ref=${o} onKeyDown=${t=>{if(t.target.getAttribute("role")!=="treeitem"||t.ctrlKey||t.altKey||t.metaKey)return;let n=t.target.dataset.path??"0",u=p.get(n),d=[...o.current?.querySelectorAll("[role=treeitem]")??[]].map(h=>h.dataset.path??""),b=d.indexOf(n),f=u?.below!==void 0&&y(n,u)!=="closed";switch(t.key){case"ArrowDown":w(d[b+1]);break;case"ArrowUp":w(d[b-1]);break;case"Home":w(d[0]);break;case"End":w(d.at(-1));break;case"ArrowRight":f?w(d.find(h=>h===`${n}.0`)):g(n);break;case"ArrowLeft":f?g(n):n.includes(".")&&w(n.slice(0,n.lastIndexOf(".")));break;case"Enter":case" ":g(n);break;default:return}t.preventDefault(),t.stopPropagation()}}>
      ${e.map((t,n)=>M(t,`${n}`,1,n,e.length))}
    </ul>
  `}function ne({question:r,failed:e}){let{clause:o,line:s,column:a,why:l,fails:c}=e,p=s!==void 0&&a!==void 0&&A.value===r.query;return S(()=>{if(p)return E.value={text:r.query,line:s,column:a,message:"No row passes this clause together with those before it."},()=>{E.value=void 0}},[p,r.query,s,a]),i`
    <div role="status">
      <p>The answer has no such row. ${l?`${l[0]?.toUpperCase()}${l.slice(1)}.`:"No row passes this clause together with those before it:"}</p>
      ${o&&i`<pre class="clause">${o}</pre>`}
      ${p&&i`<p class="note">It is underlined in the editor, at line ${s}, column ${a}.</p>`}
    </div>
    <${K} values=${e.with} />
    ${c!==void 0&&c.length>0&&i`<h3>Why no rule of it holds</h3><${Q} label="Rules that do not hold" roots=${c.map(B)} />`}
  `}function B(r){let{rule:e,why:o,clause:s,fails:a,more:l}=r;return{content:i`
    <span class="kind">rule</span> <code>${e}</code>
    <p class="note">${o??(l?"There is no space for more.":"No row passes ")}${s&&i`<code>${s}</code>`}</p>
    <${K} values=${r.with} />
  `,below:a&&a.length>0?()=>a.map(B):void 0}}function K({values:r={}}){let e=Object.entries(r);return e.length===0?null:i`<p class="with">with ${e.map(([o,s])=>i`<code key=${o}>${o} = ${s}</code> `)}</p>`}async function R(r,e,o){let{sections:s,inputs:a}=x(r.query),l=s.get(":rules"),c=a.flatMap(({text:$},g)=>$.startsWith("$")||$==="%"?[g]:[]),p=["[:find ?holds",...c.length>0?[`:in $ ${c.map($=>a[$]?.text).join(" ")}`]:[],...l?[`:rules ${l.join(" ")}`]:[],`:where [(ground true) ?holds] ${e}]`].join(" "),m=await D({...r,query:p,argsEdn:c.map($=>r.argsEdn[$]??"")},[!0],o),y=m.holds?m.steps.at(-1):void 0;if(y===void 0)throw new Error(`the server finds no reason for ${e} any more`);return y}function F(r,e){return e.map(o=>W(r,o))}function W(r,e){return{content:q(e),below:H(r,e)}}function H(r,e){let{steps:o,fact:s}=e;if(o!==void 0){let a=F(r,o);if(e.rule===void 0||e.rule===null)return()=>a;let l={content:I(e.rule,e.with),below:()=>a,isOpen:!0};return()=>[l]}if(!(!e.more||!s?.startsWith("(")))return async()=>{let a=await R(r,s),l=H(r,{...e,...a});return l===void 0?[]:l()}}function q(r){let{clause:e,fact:o,datom:s,absent:a,branch:l}=r;return i`
    <span class="kind">${U(r)}</span>
    ${s?i`<${z} datom=${s} />`:i`<code>${o??e??"what policies ask for"}</code>`}
    ${a&&i`<span class="note"> holds: nothing matches</span>`}
    ${l!==void 0&&i`<span class="note"> branch ${l} holds</span>`}
    ${o&&e&&o!==e&&i`<code class="clause">${e}</code>`}
  `}function U({datom:r,rule:e,more:o,absent:s,branch:a,steps:l,clause:c}){return r?"datom":e!==void 0||o&&c?.startsWith("(")?"rule":a!==void 0?"or":s?"not":l?"and":"check"}function I(r,e={}){return i`
    <span class="kind">by</span> <code>${r}</code>
    <div class="with">${Object.entries(e).map(([o,s])=>i`<code key=${o}>${o} = ${s}</code> `)}</div>
  `}function z({datom:{e:r,a:e,v:o,t:s}}){let a=j(e)?.valueType==="ref"&&/^\d+$/.test(o);return i`<code
    >[<${N} id=${r} text=${String(r)} /> ${e} ${a?i`<${N} id=${o} text=${o} />`:o}]</code
  > ${s!=null&&i`<${N} id=${L+Number(s)} text=${`t ${s}`} />`}`}function N({id:r,text:e}){return i`<button type="button" class="ref" onClick=${()=>C(r)}>${e}</button>`}export{Q as a,ne as b,F as c};
