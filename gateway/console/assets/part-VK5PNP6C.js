import{a as Q}from"./part-3GAYDXTZ.js";import{b as L}from"./part-7VBUNBJ5.js";import{a as E}from"./part-H44NLXYV.js";import{a as C}from"./part-IPC6DJ4E.js";import{k as A}from"./part-VWBY6ZJU.js";import{a as v}from"./part-DAQGICZE.js";import{a as i}from"./part-BGX5RPQL.js";import{e as j}from"./part-E36UJHIO.js";import{d as T,f as S,h as x}from"./part-ST7TEUSA.js";function R({label:n,roots:e}){let t=x(null),[s,a]=T(new Map),[l,u]=T("0"),p=new Map,m=(r,o)=>a(c=>new Map(c).set(r,o)),y=(r,o)=>{let c=s.get(r);if(c!==void 0)return c;let d=o.isOpen?o.below?.():void 0;return d===void 0||d instanceof Promise?"closed":d},$=(r,o)=>{let c=o.below?.();if(c!==void 0){if(!(c instanceof Promise)){m(r,c);return}m(r,"loading"),c.then(d=>m(r,d),d=>m(r,d instanceof Error?d:new Error(String(d))))}},h=r=>{let o=p.get(r);o?.below!==void 0&&(y(r,o)==="closed"?$(r,o):m(r,"closed"))},M=(r,o,c,d,b)=>{p.set(o,r);let f=y(o,r),g=f==="closed";return i`
      <li
        key=${o}
        role="treeitem"
        data-path=${o}
        aria-level=${c}
        aria-posinset=${d+1}
        aria-setsize=${b}
        aria-expanded=${r.below&&!g}
        aria-selected=${l===o}
        tabindex=${l===o?0:-1}
      >
        <div class="tree-line" onClick=${k=>H(k,o)}>
          <span class="tree-mark" aria-hidden="true">${r.below?g?"\u25B8":"\u25BE":""}</span>
          <div class="tree-content">${r.content}</div>
        </div>
        ${f==="loading"&&i`<p class="note" role="status">Loading…</p>`}
        ${f instanceof Error&&i`<p class="error" role="alert">${f.message}</p>`}
        ${Array.isArray(f)&&i`<ul role="group">${f.map((k,O)=>M(k,`${o}.${O}`,c+1,O,f.length))}</ul>`}
      </li>
    `},H=(r,o)=>{r.target.closest("button, a, input")||(w(o),h(o))},w=r=>{r!==void 0&&(u(r),t.current?.querySelector(`[data-path="${r}"]`)?.focus())};return i`
    <ul class="tree" role="tree" aria-label=${n} ref=${t} onKeyDown=${r=>{if(r.target.getAttribute("role")!=="treeitem"||r.ctrlKey||r.altKey||r.metaKey)return;let o=r.target.dataset.path??"0",c=p.get(o),d=[...t.current?.querySelectorAll("[role=treeitem]")??[]].map(g=>g.dataset.path??""),b=d.indexOf(o),f=c?.below!==void 0&&y(o,c)!=="closed";switch(r.key){case"ArrowDown":w(d[b+1]);break;case"ArrowUp":w(d[b-1]);break;case"Home":w(d[0]);break;case"End":w(d.at(-1));break;case"ArrowRight":f?w(d.find(g=>g===`${o}.0`)):h(o);break;case"ArrowLeft":f?h(o):o.includes(".")&&w(o.slice(0,o.lastIndexOf(".")));break;case"Enter":case" ":h(o);break;default:return}r.preventDefault(),r.stopPropagation()}}>
      ${e.map((r,o)=>M(r,`${o}`,1,o,e.length))}
    </ul>
  `}function re({question:n,failed:e}){let{clause:t,line:s,column:a,why:l,fails:u}=e,p=s!==void 0&&a!==void 0&&A.value===n.query;return S(()=>{if(p)return E.value={text:n.query,line:s,column:a,message:"No row passes this clause together with those before it."},()=>{E.value=void 0}},[p,n.query,s,a]),i`
    <div role="status">
      <p>The answer has no such row. ${l?`${l[0]?.toUpperCase()}${l.slice(1)}.`:"No row passes this clause together with those before it:"}</p>
      ${t&&i`<pre class="clause">${t}</pre>`}
      ${p&&i`<p class="note">It is underlined in the editor, at line ${s}, column ${a}.</p>`}
    </div>
    <${B} values=${e.with} />
    ${u!==void 0&&u.length>0&&i`<h3>Why no rule of it holds</h3><${R} label="Rules that do not hold" roots=${u.map(D)} />`}
  `}function D(n){let{rule:e,why:t,clause:s,fails:a,more:l}=n;return{content:i`
    <span class="kind">rule</span> <code>${e}</code>
    <p class="note">${t??(l?"There is no space for more.":"No row passes ")}${s&&i`<code>${s}</code>`}</p>
    <${B} values=${n.with} />
  `,below:a&&a.length>0?()=>a.map(D):void 0}}function B({values:n={}}){let e=Object.entries(n);return e.length===0?null:i`<p class="with">with ${e.map(([t,s])=>i`<code key=${t}>${t} = ${s}</code> `)}</p>`}async function K(n,e,t){let{sections:s,inputs:a}=v(n.query),l=s.get(":rules"),u=a.flatMap(({text:$},h)=>$.startsWith("$")||$==="%"?[h]:[]),p=["[:find ?holds",...u.length>0?[`:in $ ${u.map($=>a[$]?.text).join(" ")}`]:[],...l?[`:rules ${l.join(" ")}`]:[],`:where [(ground true) ?holds] ${e}]`].join(" "),m=await Q({...n,query:p,argsEdn:u.map($=>n.argsEdn[$]??"")},[!0],t),y=m.holds?m.steps.at(-1):void 0;if(y===void 0)throw new Error(`the server finds no reason for ${e} any more`);return y}function P(n,e){return e.map(t=>U(n,t))}function W(n,e,{with:t,steps:s=[]}){return{content:z(e,t),below:()=>P(n,s),isOpen:!0}}function U(n,e){let t=F(n,e),s=e.more&&t===void 0;return{content:i`${I(e)}${s&&i`<p class="note">There is no space for more.</p>`}`,below:t}}function F(n,e){let{steps:t,fact:s,rule:a}=e;if(t!==void 0)return()=>a==null?P(n,t):[W(n,a,e)];if(!(n===void 0||!e.more||!s?.startsWith("(")))return async()=>{let l=await K(n,s),u=F(n,{...e,...l});return u===void 0?[]:u()}}function I(n){let{clause:e,fact:t,datom:s,absent:a,branch:l}=n;return i`
    <span class="kind">${q(n)}</span>
    ${s?i`<${V} datom=${s} />`:i`<code>${t??e??"what policies ask for"}</code>`}
    ${a&&i`<span class="note"> holds: nothing matches</span>`}
    ${l!==void 0&&i`<span class="note"> branch ${l} holds</span>`}
    ${t&&e&&t!==e&&i`<code class="clause">${e}</code>`}
  `}function q({datom:n,rule:e,more:t,absent:s,branch:a,steps:l,clause:u}){return n?"datom":e!==void 0||t&&u?.startsWith("(")?"rule":a!==void 0?"or":s?"not":l?"and":"check"}function z(n,e={}){return i`
    <span class="kind">by</span> <code>${n}</code>
    <div class="with">${Object.entries(e).map(([t,s])=>i`<code key=${t}>${t} = ${s}</code> `)}</div>
  `}function V({datom:{e:n,a:e,v:t,t:s}}){let a=j(e)?.valueType==="ref"&&/^\d+$/.test(t);return i`<code
    >[<${N} id=${n} text=${String(n)} /> ${e} ${a?i`<${N} id=${t} text=${t} />`:t}]</code
  > ${s!=null&&i`<${N} id=${C+Number(s)} text=${`t ${s}`} />`}`}function N({id:n,text:e}){return i`<button type="button" class="ref" onClick=${()=>L(n)}>${e}</button>`}export{R as a,re as b,D as c,P as d,W as e};
