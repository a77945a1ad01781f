import{b as $,c as q}from"./part-IPC6DJ4E.js";import{a as _}from"./part-JFLYFYVR.js";import{m as p,o as k,q as N,r as A,w as D,y as F}from"./part-VWBY6ZJU.js";import{a as v}from"./part-SF3TZDU3.js";import{a as l}from"./part-BGX5RPQL.js";import{b as O,d as E}from"./part-E36UJHIO.js";import{d as C}from"./part-XTEOP6XV.js";import{d as f,f as m,k as R,m as P,n as u}from"./part-ST7TEUSA.js";function h(t){return new Date(t.getTime()-t.getTimezoneOffset()*6e4).toISOString().slice(0,19)}var U=900,V=100,y=class{isPaused=u(!1);steps=u(0);error=u(void 0);isOver=u(!1);#s;#o;#e;#r=[];#a=[];#t;constructor({query:e,argsEdn:o,as:n},s,r){this.#s={query:e,argsEdn:o,as:n},this.#o=r,this.#e=C.live(e,[],{...o.length>0?{argsEdn:o}:{},as:n,fromT:s,onChange:i=>this.#r.push(i)}),this.#e.subscribe(()=>{this.#e.status==="failed"&&this.#i(this.#e.error)}),this.#n(0)}togglePause(){this.isPaused.value=!this.isPaused.value,this.isPaused.value?window.clearTimeout(this.#t):this.#n(0)}close(){this.#i(void 0)}#i(e){window.clearTimeout(this.#t),this.error.value=e,this.isOver.value=!0,this.#e.close()}#n(e){window.clearTimeout(this.#t),this.#t=window.setTimeout(()=>this.#l(),e)}#l(){let e=this.#r.shift();e!==void 0&&Number(e.basisT)<=this.#o?(this.#u(e),this.#n(U)):e!==void 0||Number(this.#e.basisT??0)>=this.#o?this.#i(void 0):this.#n(V)}#u({kind:e,added:o,retracted:n,basisT:s,columns:r}){let i=new Map,a=e==="snapshot",b=new Map;for(let c of n)b.set(c,(b.get(c)??0)+1);let d=a?[]:this.#a.filter(c=>!J(b,c));for(let c of a?[]:n)i.set(c,"retracted");for(let c of a?[]:o)i.set(c,"added");this.#a=[...o,...d],a||(this.steps.value+=1),this.#c(s);let g=[...o,...n,...d],K={engine:"LIVE",cache:"BYPASS",elapsedMs:0,rows:g.length},G={...this.#s,basis:{t:s}};_({question:G,columns:r,rows:g,basisT:s,warnings:this.#e.warnings,stats:K},i)}#c(e){p.value={t:e}}};function J(t,e){let o=t.get(e)??0;return o>0&&t.set(e,o-1),o>0}var T=u(void 0);function S(){T.value?.close(),T.value=void 0}function Q({from:t,to:e}){m(()=>S,[A.value]);let o=T.value,n=()=>{S(),T.value=new y(D.peek(),t>=e?0:t,e)};return o===void 0||o.isOver.value?l`
      <button type="button" class="quiet" title="Through the transactions that change the answer" onClick=${n}>Play</button>
      ${o!==void 0&&l`<span class="note" role="status">${I(o)} changed the answer.</span>`}
      <${v} error=${o?.error.value} />
    `:l`
    <button type="button" class="quiet" aria-pressed=${o.isPaused.value} onClick=${()=>o.togglePause()}>Pause</button>
    <button type="button" class="quiet" onClick=${S}>Stop</button>
    <span class="note">${I(o)}</span>
  `}function I({steps:t}){return`${t.value} ${t.value===1?"transaction":"transactions"}`}var z=150,x,B=0,M,W=u(void 0);function w(t){if(Number.isNaN(t)||t<0)return;p.value={t},W.value=x=t;let e=performance.now()-B;if(N.peek()&&e<z){M??=window.setTimeout(L,z-e);return}L()}function L(){window.clearTimeout(M),M=void 0,x!==void 0&&(x=void 0,B=performance.now(),P(()=>F({isStep:!0})).then(L))}var Y=4,X=3,Z=.25;function j({newest:t}){let[e,o]=f([]);return m(()=>{let n=new AbortController,s=ee(t);return $(s,n.signal).then(r=>n.signal.aborted||o(te(r)),()=>{}),()=>n.abort()},[t]),l`<div class="ticks" aria-hidden="true">
    ${e.map(({t:n,text:s},r)=>{let i=r===e.length-1?"last":r===0?n/t<Z?"first":"":r*2===e.length-1?"":"between";return l`<span key=${n} class=${`tick ${i}`} style=${{"--place":String(n/t)}}>${s}</span>`})}
  </div>`}function ee(t){let e=Array.from({length:Y+1},(o,n)=>Math.max(1,Math.round(t*n/Y)));return t<1?[]:[...new Set(e)]}function te(t){let e=[...t].map(([i,a])=>({t:i,text:h(new Date(a))})),o=new Set(e.map(({text:i})=>i.slice(0,10))),n=Date.parse(e.at(-1)?.text??"")-Date.parse(e[0]?.text??""),s=o.size===1||n<X*864e5,r=e.map(({text:i})=>s?i.replace("T"," ").slice(0,16):i.slice(0,10));return e.map(({t:i},a)=>({t:i,text:ne(r[a]??"",r[a-1])}))}function ne(t,e){return t===e?"":e?.slice(0,10)===t.slice(0,10)?t.slice(11):t}var oe=60;function H({t}){let[e,o]=f();m(()=>{let s=new AbortController,r=window.setTimeout(()=>{$([t],s.signal).then(i=>s.signal.aborted||o({t,at:i.get(t)}),()=>{})},oe);return()=>{window.clearTimeout(r),s.abort()}},[t]);let n=e?.t===t?e.at:void 0;return l`<time class="transaction-time" datetime=${n} title=${n}>${n===void 0?t===0?"before all transactions":"\u2026":h(new Date(n)).replace("T"," ")}</time>`}function Be(){let t=R(),[e,o]=f(),n=ie(),s=k.value?.basisT,r=p.value?.t??s??n,i=Number(r);m(()=>{E().catch(()=>{})},[]);let a=d=>w(Number(d.target.value)),b=d=>{let g=new Date(d.target.value);o(void 0),Number.isNaN(g.getTime())||q(g).then(w,o)};return l`
    <div class="row as-of">
      <button type="button" class="quiet" aria-label="The transaction before" disabled=${i<=0} onClick=${()=>w(i-1)}>◀</button>
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
        <${j} newest=${n} />
      </div>
      <button type="button" class="quiet" aria-label="The transaction after" disabled=${i>=n} onClick=${()=>w(i+1)}>▶</button>
      <label>t <input type="number" class="t" aria-label="Transaction number" min="0" max=${n} value=${i} onChange=${a} /></label>
      <span class="note">of ${n.toLocaleString()}</span>
      <${H} t=${i} />
      <label for=${t} class="hidden">As of a date and time</label>
      <input id=${t} type="datetime-local" step="1" title="As of a date and time, of this computer's time zone" onChange=${b} max=${h(new Date)} />
      <${Q} from=${i} to=${n} />
    </div>
    <${v} error=${e} />
  `}function ie(){let t=[O.value?.basisT,k.value?.basisT];return Math.max(0,...t.map(e=>Number(e??0)))}export{h as a,H as b,Be as c,ie as d};
