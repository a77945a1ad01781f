import{b as I,c as Q}from"./part-VCD5BEYA.js";import{b as D}from"./part-6VXWK6VU.js";import{a as F}from"./part-JXCTAW2B.js";import{k as f,m as T,o as E,p as O,u as q,v as A}from"./part-LLVG6Z7P.js";import{a as v}from"./part-PQQ22TZ7.js";import{a as u}from"./part-H5APD4YT.js";import{b as R,d as N}from"./part-MYFEB7IN.js";import{d as P}from"./part-TSUFEJYE.js";import{d as w,f as d,j as M,l as C,m as r}from"./part-RZWRK72K.js";function g(t){return new Date(t.getTime()-t.getTimezoneOffset()*6e4).toISOString().slice(0,19)}var G=900,U=100,$=class{isPaused=r(!1);steps=r(0);error=r(void 0);isOver=r(!1);#s;#o;#e;#r=[];#a=[];#t;constructor({query:e,argsEdn:n,as:o},s,l){this.#s={query:e,argsEdn:n,as:o},this.#o=l,this.#e=P.live(e,[],{...n.length>0?{argsEdn:n}:{},as:o,fromT:s,onChange:i=>this.#r.push(i)}),this.#e.subscribe(()=>{this.#e.status==="failed"&&this.#i(this.#e.error)}),this.#n(0)}togglePause(){this.isPaused.value=!this.isPaused.value,this.isPaused.value?window.clearTimeout(this.#t):this.#n(0)}close(){this.#i(void 0)}#i(e){window.clearTimeout(this.#t),this.error.value=e,this.isOver.value=!0,this.#e.close()}#n(e){window.clearTimeout(this.#t),this.#t=window.setTimeout(()=>this.#u(),e)}#u(){let e=this.#r.shift();e!==void 0&&Number(e.basisT)<=this.#o?(this.#l(e),this.#n(G)):e!==void 0||Number(this.#e.basisT??0)>=this.#o?this.#i(void 0):this.#n(U)}#l({kind:e,added:n,retracted:o,basisT:s,columns:l}){let i=new Map,m=e==="snapshot",p=new Map;for(let a of o)p.set(a,(p.get(a)??0)+1);let c=m?[]:this.#a.filter(a=>!V(p,a));for(let a of m?[]:o)i.set(a,"retracted");for(let a of m?[]:n)i.set(a,"added");this.#a=[...n,...c],m||(this.steps.value+=1),this.#m(s);let h=[...n,...o,...c],K={engine:"LIVE",cache:"BYPASS",elapsedMs:0,rows:h.length},Y={...this.#s,basis:{t:s}};F({question:Y,columns:l,rows:h,basisT:s,warnings:this.#e.warnings,stats:K},i)}#m(e){f.value={t:e}}};function V(t,e){let n=t.get(e)??0;return n>0&&t.set(e,n-1),n>0}var y=r(void 0);function k(){y.value?.close(),y.value=void 0}function B({from:t,to:e}){d(()=>k,[O.value]);let n=y.value,o=()=>{k(),y.value=new $(q.peek(),t>=e?0:t,e)};return n===void 0||n.isOver.value?u`
      <button type="button" class="quiet" title="Through the transactions that change the answer" onClick=${o}>Play</button>
      ${n!==void 0&&u`<span class="note" role="status">${_(n)} changed the answer.</span>`}
      <${v} error=${n?.error.value} />
    `:u`
    <button type="button" class="quiet" aria-pressed=${n.isPaused.value} onClick=${()=>n.togglePause()}>Pause</button>
    <button type="button" class="quiet" onClick=${k}>Stop</button>
    <span class="note">${_(n)}</span>
  `}function _({steps:t}){return`${t.value} ${t.value===1?"transaction":"transactions"}`}var j=150,x,z=0,L,J=r(void 0);function b(t){if(Number.isNaN(t)||t<0)return;f.value={t},J.value=x=t;let e=performance.now()-z;if(E.peek()&&e<j){L??=window.setTimeout(S,j-e);return}S()}function S(){window.clearTimeout(L),L=void 0,x!==void 0&&(x=void 0,z=performance.now(),C(()=>A({isStep:!0})).then(S))}var W=60;function H({t}){let[e,n]=w();d(()=>{let s=new AbortController,l=window.setTimeout(()=>{I([t],s.signal).then(i=>s.signal.aborted||n({t,at:i.get(t)}),()=>{})},W);return()=>{window.clearTimeout(l),s.abort()}},[t]);let o=e?.t===t?e.at:void 0;return u`<time class="transaction-time" datetime=${o} title=${o}>${o===void 0?t===0?"before all transactions":"\u2026":g(new Date(o)).replace("T"," ")}</time>`}function Ne(){let t=M(),[e,n]=w(),o=X(),s=T.value?.basisT,l=f.value?.t??s??o,i=Number(l);d(()=>{N().catch(()=>{})},[]);let m=c=>b(Number(c.target.value)),p=c=>{let h=new Date(c.target.value);n(void 0),Number.isNaN(h.getTime())||Q(h).then(b,n)};return u`
    <div class="row as-of">
      <button type="button" class="quiet" aria-label="The transaction before" disabled=${i<=0} onClick=${()=>b(i-1)}>◀</button>
      <input
        type="range"
        class="slider"
        aria-label="Transaction"
        aria-valuetext=${`transaction ${i} of ${o}`}
        min="0"
        max=${o}
        step="1"
        value=${i}
        onInput=${m}
      />
      <button type="button" class="quiet" aria-label="The transaction after" disabled=${i>=o} onClick=${()=>b(i+1)}>▶</button>
      <label>t <input type="number" class="t" aria-label="Transaction number" min="0" max=${o} value=${i} onChange=${m} /></label>
      <span class="note">of ${o.toLocaleString()}</span>
      <${H} t=${i} />
      <label for=${t} class="hidden">As of a date and time</label>
      <input id=${t} type="datetime-local" step="1" title="As of a date and time, of this computer's time zone" onChange=${p} max=${g(new Date)} />
      <${B} from=${i} to=${o} />
      <button type="button" class="quiet" onClick=${()=>D("newest")}>To the newest</button>
    </div>
    <${v} error=${e} />
  `}function X(){let t=[R.value?.basisT,T.value?.basisT];return Math.max(0,...t.map(e=>Number(e??0)))}export{g as a,H as b,Ne as c,X as d};
