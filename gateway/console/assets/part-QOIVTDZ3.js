import{a as q}from"./part-PQQ22TZ7.js";import{a as c}from"./part-H5APD4YT.js";import{f as F}from"./part-MYFEB7IN.js";import{b as $,f as v}from"./part-TSUFEJYE.js";import"./part-R45ROGHT.js";import"./part-VTCKWQW5.js";import{d as y,f as b,m as w}from"./part-RZWRK72K.js";var D=/^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/,P=/([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g;function E(e){let t=new Map;for(let o of e.split(`
`)){let[,r,s="",i=""]=!o.startsWith("#")&&D.exec(o)||[];if(r===void 0)continue;let a=[...s.matchAll(P)].map(([,d="",g=""])=>[d,g.replace(/\\(.)/g,G)]),n={labels:Object.fromEntries(a),value:T(i)},u=t.get(r);u?u.push(n):t.set(r,[n])}return t}function G(e,t){return t==="n"?`
`:t}function T(e){return e==="+Inf"?Number.POSITIVE_INFINITY:Number(e)}function m(e,t,o={}){let r=e.get(t)?.filter(s=>Object.entries(o).every(([i,a])=>s.labels[i]===a));return r?.length?r.reduce((s,{value:i})=>s+i,0):void 0}function L(e,t,o,r){let s=new Map,i=(u,d)=>{for(let{labels:g,value:B}of u.get(`${t}_bucket`)??[]){let S=T(g.le??"+Inf");s.set(S,(s.get(S)??0)+d*B)}};i(o,1),i(r,-1);let a=[...s].sort(([u],[d])=>u-d),n=a.at(-1)?.[1]??0;return n>0?a.find(([,u])=>u>=e*n)?.[0]:void 0}function l(e,t,o,r=W,s){return{title:e,means:o,written:r,isOptional:!0,value:i=>m(i,t,s)}}function f(e,t,o,r,s=C){return{title:e,means:o,written:s,value:(i,a,n)=>Math.max(0,(m(i,t,r)??0)-(m(a,t,r)??0))/n}}function M(e,t,o,r){return{title:e,means:r,written:H,value:(s,i)=>L(t,o,s,i)}}var O=[{title:"Requests",figures:[f("Requests","adalog_requests_total","GraphQL root fields answered, each second"),{title:"Errors",means:"Root fields that were answered with an error, each second",written:C,value:(e,t,o)=>{let r=s=>(m(s,"adalog_requests_total")??0)-(m(s,"adalog_requests_total",{code:"OK"})??0);return Math.max(0,r(e)-r(t))/o}},M("Median latency",.5,"adalog_request_seconds","Half of the requests took no longer than this bound"),M("p99 latency",.99,"adalog_request_seconds","99 % of the requests took no longer than this bound"),l("Connections","adalog_connections","Open connections")]},{title:"Queries",figures:[l("Running","adalog_queries_running","Queries that have a slot"),l("Waiting","adalog_queue_length","Queries that wait for a slot"),f("Cache hits","adalog_cache_total","Answers that the cache had, each second",{layer:"query",outcome:"hit"}),f("Cache misses","adalog_cache_total","Answers that were computed, each second",{layer:"query",outcome:"miss"}),l("Cache memory","adalog_cache_memory_bytes","Bytes of answers that are kept",p)]},{title:"Live queries",figures:[l("Subscriptions","adalog_live_subscriptions","Open subscriptions"),l("Views","adalog_live_views","Queries that are maintained; queries that differ in their arguments count once"),f("Events","adalog_live_events_total","Events for subscribers, each second"),M("p99 lag",.99,"adalog_live_lag_seconds","From a transaction until its events wait for their subscribers"),l("Memory","adalog_live_bytes","Bytes that views keep",p)]},{title:"Database",figures:[l("Transaction","adalog_basis_t","The newest transaction number"),l("Datoms","adalog_datoms","Datoms that hold now"),l("Waiting transactions","adalog_transactions_waiting","Transactions that are not answered yet"),l("Tries and dictionary","adalog_store_memory_bytes","Bytes in memory",p),l("Free disk","adalog_disk_free_bytes","Bytes left on the disk of the data folder",p,{place:"data"})]},{title:"Process",figures:[f("CPU","process_cpu_seconds_total","Cores in use",{},e=>e.toFixed(2)),l("Memory","process_resident_memory_bytes","Resident bytes of all workers",p),l("Descriptors","process_open_fds","Open file descriptors"),l("Workers","adalog_workers_ready","Workers that are ready"),l("Log failures","adalog_log_failures_total","Writes to the log that failed since the start")]}];function W(e){return e.toLocaleString("en",{maximumFractionDigits:0})}function C(e){return`${e.toLocaleString("en",{maximumFractionDigits:e<10?1:0})}/s`}function H(e){return Number.isFinite(e)?e<1?`\u2264 ${(e*1e3).toLocaleString("en",{maximumFractionDigits:1})} ms`:`\u2264 ${e} s`:"over 60 s"}var Q=["B","KB","MB","GB","TB"];function p(e){let t=e<1?0:Math.min(Q.length-1,Math.floor(Math.log10(e)/3));return`${(e/1e3**t).toLocaleString("en",{maximumFractionDigits:t<2?0:1})} ${Q[t]}`}var j="{ runningQueries { id text principal elapsedMs waitedMs lane isRunning } }",z="mutation ($id: ID!) { cancelQuery(id: $id) }",U=1e3;function A(){let[e,t]=y([]),[o,r]=y(),[s,i]=y("");b(()=>{let n=new AbortController;return(async()=>{for(;!n.signal.aborted;){try{t((await v(j,{},n.signal)).runningQueries),r(void 0)}catch(d){n.signal.aborted||r(d)}await new Promise(d=>setTimeout(d,U))}})(),()=>n.abort()},[]);let a=async({id:n})=>{try{let{cancelQuery:u}=await v(z,{id:n});i(u?"The query was cancelled.":"The query had ended."),t(d=>d.filter(g=>g.id!==n))}catch(u){r(u)}};return c`
    <section aria-label="Running queries">
      <h2>Running queries</h2>
      <${q} error=${o} />
      <p class="hidden" role="status">${s}</p>
      ${e.length===0?c`<p class="note">No query waits or runs.</p>`:c`<ul class="running">
            ${e.map(n=>c`<li key=${n.id}>
                <pre tabindex="0" aria-label="Query">${n.text}</pre>
                <span>
                  ${n.isRunning?"runs":"waits"}, ${(n.elapsedMs/1e3).toFixed(1)} s, of which ${(n.waitedMs/1e3).toFixed(1)} s waiting;
                  ${n.lane.toLowerCase()} lane; asked by ${n.principal}
                </span>
                <button type="button" onClick=${()=>{a(n)}}>Cancel</button>
              </li>`)}
          </ul>`}
    </section>
  `}var V=2e3,K=300,_=w([]),k=w({}),h=w(void 0);async function I(e){for(;!e.aborted;){try{await Y(e),h.value=void 0}catch(t){e.aborted||(h.value=t instanceof Error?t.message:String(t))}await new Promise(t=>setTimeout(t,V))}}async function Y(e){let t=$.value?{Authorization:`Bearer ${$.value}`}:{},[o,r]=await Promise.all([fetch("metrics",{headers:t,signal:e,cache:"no-store"}),fetch("readyz",{signal:e,cache:"no-store"})]);if(k.value=await r.json(),!o.ok)throw new Error(await Z(o));let s={time:Date.now()/1e3,metrics:E(await o.text())};_.value=[..._.value.filter(({time:i})=>i>s.time-K),s]}async function Z(e){return(await e.json().catch(()=>{}))?.errors?.[0]?.message??`/metrics answered ${e.status}`}var x=150,R=28,J=150;function N({values:e,label:t}){let o=e.filter(n=>n!==void 0&&Number.isFinite(n)),r=Math.max(...o,0),s=Math.min(...o,r),i=n=>R-2-(n-s)/(r-s||1)*(R-4),a=e.flatMap((n,u)=>n===void 0||!Number.isFinite(n)?[]:[`${x-(e.length-1-u)*(x/J)},${i(n).toFixed(1)}`]);return c`
    <svg class="sparkline" viewBox=${`0 0 ${x} ${R}`} preserveAspectRatio="none" role="img" aria-label=${t||"no past yet"}>
      <polyline points=${a.join(" ")} fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke" />
    </svg>
  `}function ve(){return b(()=>{let e=new AbortController;return I(e.signal),()=>e.abort()},[]),c`
    <div class="health">
      <h1>Health</h1>
      <${X} />
      ${h.value&&c`<p class="error" role="alert">${h.value}</p>`}
      ${F()&&c`<${A} />`}
      ${O.map(({title:e,figures:t})=>c`
          <section key=${e} aria-label=${e}>
            <h2>${e}</h2>
            <div class="figures">${t.map(o=>c`<${ee} key=${o.title} figure=${o} />`)}</div>
          </section>
        `)}
      <p class="note">Figures of all workers, every two seconds while this page is open, from <a href="metrics">/metrics</a>.</p>
    </div>
  `}function X(){let{status:e,why:t,spark:o,workers:r,behind:s}=k.value;if(e===void 0)return null;let{all:i,ready:a}=r??{};return c`<p class=${e==="ready"?"note":"error"} role="status">
    ${e==="ready"?"The server is ready.":`The server is not ready: ${String(t)}.`} Spark is ${String(o??"unknown")}.
    ${i===void 0?"":` ${a} of ${i} workers are ready.`} ${s?` It cannot read what others write: ${String(s)}.`:""}
  </p>`}function ee({figure:e}){let t=_.value,o=t.slice(1).map((i,a)=>{let n=t[a];return n&&e.value(i.metrics,n.metrics,Math.max(.1,i.time-n.time))}),r=o.findLast(i=>i!==void 0),s=o.filter(i=>i!==void 0&&Number.isFinite(i));return r===void 0&&e.isOptional?null:c`
    <div class="figure" title=${e.means}>
      <span class="figure-title">${e.title}</span>
      <strong>${r===void 0?"\u2013":e.written(r)}</strong>
      <${N} values=${o} label=${s.length<2?"":`from ${e.written(Math.min(...s))} to ${e.written(Math.max(...s))} in the last five minutes`} />
    </div>
  `}export{ve as Health};
