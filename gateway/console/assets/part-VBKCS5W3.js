import{b as $,c as I}from"./part-VCD5BEYA.js";import{a as _}from"./part-GI5L6ODP.js";import{a as F}from"./part-4VIEBSYY.js";import{m as p,o as k,q as N,r as A,w as D,x as q}from"./part-LV57CMH5.js";import{a as v}from"./part-PQQ22TZ7.js";import{a as u}from"./part-H5APD4YT.js";import{b as O,d as E}from"./part-MYFEB7IN.js";import{d as R}from"./part-TSUFEJYE.js";import{d as f,f as m,j as C,l as P,m as l}from"./part-RZWRK72K.js";function h(t){return new Date(t.getTime()-t.getTimezoneOffset()*6e4).toISOString().slice(0,19)}var V=900,J=100,y=class{isPaused=l(!1);steps=l(0);error=l(void 0);isOver=l(!1);#s;#o;#e;#r=[];#a=[];#t;constructor({query:e,argsEdn:o,as:n},s,r){this.#s={query:e,argsEdn:o,as:n},this.#o=r,this.#e=R.live(e,[],{...o.length>0?{argsEdn:o}:{},as:n,fromT:s,onChange:i=>this.#r.push(i)}),this.#e.subscribe(()=>{this.#e.status==="failed"&&this.#i(this.#e.error)}),this.#n(0)}togglePause(){this.isPaused.value=!this.isPaused.value,this.isPaused.value?window.clearTimeout(this.#t):this.#n(0)}close(){this.#i(void 0)}#i(e){window.clearTimeout(this.#t),this.error.value=e,this.isOver.value=!0,this.#e.close()}#n(e){window.clearTimeout(this.#t),this.#t=window.setTimeout(()=>this.#u(),e)}#u(){let e=this.#r.shift();e!==void 0&&Number(e.basisT)<=this.#o?(this.#l(e),this.#n(V)):e!==void 0||Number(this.#e.basisT??0)>=this.#o?this.#i(void 0):this.#n(J)}#l({kind:e,added:o,retracted:n,basisT:s,columns:r}){let i=new Map,a=e==="snapshot",b=new Map;for(let c of n)b.set(c,(b.get(c)??0)+1);let d=a?[]:this.#a.filter(c=>!W(b,c));for(let c of a?[]:n)i.set(c,"retracted");for(let c of a?[]:o)i.set(c,"added");this.#a=[...o,...d],a||(this.steps.value+=1),this.#c(s);let w=[...o,...n,...d],G={engine:"LIVE",cache:"BYPASS",elapsedMs:0,rows:w.length},U={...this.#s,basis:{t:s}};F({question:U,columns:r,rows:w,basisT:s,warnings:this.#e.warnings,stats:G},i)}#c(e){p.value={t:e}}};function W(t,e){let o=t.get(e)??0;return o>0&&t.set(e,o-1),o>0}var T=l(void 0);function S(){T.value?.close(),T.value=void 0}function z({from:t,to:e}){m(()=>S,[A.value]);let o=T.value,n=()=>{S(),T.value=new y(D.peek(),t>=e?0:t,e)};return o===void 0||o.isOver.value?u`
      <button type="button" class="quiet" title="Through the transactions that change the answer" onClick=${n}>Play</button>
      ${o!==void 0&&u`<span class="note" role="status">${Q(o)} changed the answer.</span>`}
      <${v} error=${o?.error.value} />
    `:u`
    <button type="button" class="quiet" aria-pressed=${o.isPaused.value} onClick=${()=>o.togglePause()}>Pause</button>
    <button type="button" class="quiet" onClick=${S}>Stop</button>
    <span class="note">${Q(o)}</span>
  `}function Q({steps:t}){return`${t.value} ${t.value===1?"transaction":"transactions"}`}var B=150,x,Y=0,M,X=l(void 0);function g(t){if(Number.isNaN(t)||t<0)return;p.value={t},X.value=x=t;let e=performance.now()-Y;if(N.peek()&&e<B){M??=window.setTimeout(L,B-e);return}L()}function L(){window.clearTimeout(M),M=void 0,x!==void 0&&(x=void 0,Y=performance.now(),P(()=>q({isStep:!0})).then(L))}var j=4,Z=3;function H({newest:t}){let[e,o]=f([]);return m(()=>{let n=new AbortController,s=ee(t);return $(s,n.signal).then(r=>n.signal.aborted||o(te(r)),()=>{}),()=>n.abort()},[t]),u`<div class="ticks" aria-hidden="true">
    ${e.map(({t:n,text:s},r)=>{let i=r===e.length-1?"last":r===0?"first":r*2===e.length-1?"":"between";return u`<span key=${n} class=${`tick ${i}`} style=${{"--place":String(n/t)}}>${s}</span>`})}
  </div>`}function ee(t){let e=Array.from({length:j+1},(o,n)=>Math.max(1,Math.round(t*n/j)));return t<1?[]:[...new Set(e)]}function te(t){let e=[...t].map(([i,a])=>({t:i,text:h(new Date(a))})),o=new Set(e.map(({text:i})=>i.slice(0,10))),n=Date.parse(e.at(-1)?.text??"")-Date.parse(e[0]?.text??""),s=o.size===1||n<Z*864e5,r=e.map(({text:i})=>s?i.replace("T"," ").slice(0,16):i.slice(0,10));return e.map(({t:i},a)=>({t:i,text:ne(r[a]??"",r[a-1])}))}function ne(t,e){return t===e?"":e?.slice(0,10)===t.slice(0,10)?t.slice(11):t}var oe=60;function K({t}){let[e,o]=f();m(()=>{let s=new AbortController,r=window.setTimeout(()=>{$([t],s.signal).then(i=>s.signal.aborted||o({t,at:i.get(t)}),()=>{})},oe);return()=>{window.clearTimeout(r),s.abort()}},[t]);let n=e?.t===t?e.at:void 0;return u`<time class="transaction-time" datetime=${n} title=${n}>${n===void 0?t===0?"before all transactions":"\u2026":h(new Date(n)).replace("T"," ")}</time>`}function Ye(){let t=C(),[e,o]=f(),n=ie(),s=k.value?.basisT,r=p.value?.t??s??n,i=Number(r);m(()=>{E().catch(()=>{})},[]);let a=d=>g(Number(d.target.value)),b=d=>{let w=new Date(d.target.value);o(void 0),Number.isNaN(w.getTime())||I(w).then(g,o)};return u`
    <div class="row as-of">
      <button type="button" class="quiet" aria-label="The transaction before" disabled=${i<=0} onClick=${()=>g(i-1)}>◀</button>
      <div class="slider-box">
        <input
          type="range"
          class="slider"
          aria-label="Transaction"
          aria-valuetext=${`transaction ${i} of ${n}`}
          min="0"
          max=${n}
          step="1"
          value=${i}
          onInput=${a}
        />
        <${H} newest=${n} />
      </div>
      <button type="button" class="quiet" aria-label="The transaction after" disabled=${i>=n} onClick=${()=>g(i+1)}>▶</button>
      <label>t <input type="number" class="t" aria-label="Transaction number" min="0" max=${n} value=${i} onChange=${a} /></label>
      <span class="note">of ${n.toLocaleString()}</span>
      <${K} t=${i} />
      <label for=${t} class="hidden">As of a date and time</label>
      <input id=${t} type="datetime-local" step="1" title="As of a date and time, of this computer's time zone" onChange=${b} max=${h(new Date)} />
      <${z} from=${i} to=${n} />
      <button type="button" class="quiet" onClick=${()=>_("newest")}>To the newest</button>
    </div>
    <${v} error=${e} />
  `}function ie(){let t=[O.value?.basisT,k.value?.basisT];return Math.max(0,...t.map(e=>Number(e??0)))}export{h as a,K as b,Ye as c,ie as d};
