import{a as T}from"./part-6ELFALKW.js";import{a as c}from"./part-HKU5J7XE.js";import{f as L}from"./part-RZZ3LF33.js";import{b as R,f as S}from"./part-UCX77QUB.js";import"./part-R45ROGHT.js";import"./part-VTCKWQW5.js";import{d as _,f as $,m as v}from"./part-C5S63P6X.js";var H=/^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/,j=/([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g;function O(e){let t=new Map;for(let s of e.split(`
`)){let[,n,r="",o=""]=!s.startsWith("#")&&H.exec(s)||[];if(n===void 0)continue;let i=[...r.matchAll(j)].map(([,u="",m=""])=>[u,m.replace(/\\(.)/g,V)]),a={labels:Object.fromEntries(i),value:Q(o)},d=t.get(n);d?d.push(a):t.set(n,[a])}return t}function V(e,t){return t==="n"?`
`:t}function Q(e){return e==="+Inf"?Number.POSITIVE_INFINITY:Number(e)}function C(e,t){return Object.entries(t).every(([s,n])=>e.labels[s]===n)}function p(e,t,s={}){let n=e.get(t)?.filter(r=>C(r,s));return n?.length?n.reduce((r,{value:o})=>r+o,0):void 0}function I(e,t,s,n,r={}){let o=new Map,i=(u,m)=>{for(let g of u.get(`${t}_bucket`)??[]){if(!C(g,r))continue;let w=Q(g.labels.le??"+Inf");o.set(w,(o.get(w)??0)+m*g.value)}};i(s,1),i(n,-1);let a=[...o].sort(([u],[m])=>u-m),d=a.at(-1)?.[1]??0;return d>0?a.find(([,u])=>u>=e*d)?.[0]:void 0}function l(e,t,s,n=P,r){return{title:e,means:s,written:n,isOptional:!0,value:o=>p(o,t,r)}}function h(e,t,s,n,r=A){return{title:e,means:s,written:r,value:(o,i,a)=>Math.max(0,(p(o,t,n)??0)-(p(i,t,n)??0))/a}}function k(e,t,s,n,r){return{title:e,means:n,written:U,value:(o,i)=>I(t,s,o,i,r)}}var D=[{title:"Requests",figures:[h("Requests","adalog_requests_total","GraphQL root fields answered, each second"),{title:"Errors",means:"Root fields that were answered with an error, each second",written:A,value:(e,t,s)=>{let n=r=>(p(r,"adalog_requests_total")??0)-(p(r,"adalog_requests_total",{code:"OK"})??0);return Math.max(0,n(e)-n(t))/s}},k("Median latency",.5,"adalog_request_seconds","Half of the requests took no longer than this bound"),k("p99 latency",.99,"adalog_request_seconds","99 % of the requests took no longer than this bound"),l("Connections","adalog_connections","Open connections"),h("Refused tokens","adalog_authentication_failures_total","Requests without a known token, each second")]},{title:"Queries",figures:[l("Running","adalog_queries_running","Queries that have a slot"),l("Running heavy","adalog_lane_running","Queries that have a slot of the heavy lane",P,{lane:"HEAVY"}),l("Waiting","adalog_queue_length","Queries that wait for a slot"),h("Cache hits","adalog_cache_total","Answers that the cache had, each second",{layer:"query",outcome:"hit"}),h("Cache misses","adalog_cache_total","Answers that were computed, each second",{layer:"query",outcome:"miss"}),l("Cache memory","adalog_cache_memory_bytes","Bytes of answers that are kept",y)]},{title:"Live queries",figures:[l("Subscriptions","adalog_live_subscriptions","Open subscriptions"),l("Streams","adalog_streams","Connections that are open for events"),l("Views","adalog_live_views","Queries that are maintained; queries that differ in their arguments count once"),h("Events","adalog_live_events_total","Events for subscribers, each second"),k("p99 lag",.99,"adalog_live_lag_seconds","From a transaction until its events wait for their subscribers"),l("Memory","adalog_live_bytes","Bytes that views keep",y)]},{title:"Database",figures:[l("Transaction","adalog_basis_t","The newest transaction number"),l("Datoms","adalog_datoms","Datoms that hold now"),l("Entities","adalog_entities","Entities with a datom"),l("Tries and dictionary","adalog_store_memory_bytes","Bytes in memory",y)]},{title:"Log and disks",figures:[k("p99 commit",.99,"adalog_request_seconds","99 % of the transactions were durable within this bound",{field:"transact"}),l("Waiting transactions","adalog_transactions_waiting","Transactions that are not answered yet"),l("Log failures","adalog_log_failures_total","Writes to the log that failed since the start"),l("Behind the log","adalog_behind","Servers and workers that do not see what others write"),l("Free disk: data","adalog_disk_free_bytes","Bytes left on the disk of the data folder",y,{place:"data"}),l("Free disk: segments","adalog_disk_free_bytes","Bytes left on the disk of the segments that gateways share",y,{place:"segments"}),l("Last backup","adalog_last_backup_timestamp_seconds","When the database was backed up last, by any server or command",z)]},{title:"Process",figures:[h("CPU","process_cpu_seconds_total","Cores in use",{},e=>e.toFixed(2)),l("Memory","process_resident_memory_bytes","Resident bytes of all workers",y),l("Descriptors","process_open_fds","Open file descriptors"),l("Workers","adalog_workers_ready","Workers that are ready")]}];function P(e){return e.toLocaleString("en",{maximumFractionDigits:0})}function A(e){return`${e.toLocaleString("en",{maximumFractionDigits:e<10?1:0})}/s`}function z(e){return new Date(e*1e3).toISOString().slice(0,16).replace("T"," ")}function U(e){return Number.isFinite(e)?e<1?`\u2264 ${(e*1e3).toLocaleString("en",{maximumFractionDigits:1})} ms`:`\u2264 ${e} s`:"over 60 s"}var B=["B","KB","MB","GB","TB"];function y(e){let t=e<1?0:Math.min(B.length-1,Math.floor(Math.log10(e)/3));return`${(e/1e3**t).toLocaleString("en",{maximumFractionDigits:t<2?0:1})} ${B[t]}`}var Y="{ runningQueries { id text principal elapsedMs waitedMs lane isRunning } }",K="mutation ($id: ID!) { cancelQuery(id: $id) }",Z=1e3;function N(){let[e,t]=_([]),[s,n]=_(),[r,o]=_("");$(()=>{let a=new AbortController;return(async()=>{for(;!a.signal.aborted;){try{t((await S(Y,{},a.signal)).runningQueries),n(void 0)}catch(u){a.signal.aborted||n(u)}await new Promise(u=>setTimeout(u,Z))}})(),()=>a.abort()},[]);let i=async({id:a})=>{try{let{cancelQuery:d}=await S(K,{id:a});o(d?"The query was cancelled.":"The query had ended."),t(u=>u.filter(m=>m.id!==a))}catch(d){n(d)}};return c`
    <section aria-label="Running queries">
      <h2>Running queries</h2>
      <${T} error=${s} />
      <p class="hidden" role="status">${r}</p>
      ${e.length===0?c`<p class="note">No query waits or runs.</p>`:c`<ul class="running">
            ${e.map(a=>c`<li key=${a.id}>
                <pre tabindex="0" aria-label="Query">${a.text}</pre>
                <span>
                  ${a.isRunning?"runs":"waits"}, ${(a.elapsedMs/1e3).toFixed(1)} s, of which ${(a.waitedMs/1e3).toFixed(1)} s waiting;
                  ${a.lane.toLowerCase()} lane; asked by ${a.principal}
                </span>
                <button type="button" onClick=${()=>{i(a)}}>Cancel</button>
              </li>`)}
          </ul>`}
    </section>
  `}var J=2e3,X=300,x=v([]),E=v({}),b=v(void 0),F=!1,q=!1;function W(){return F=!0,q||ee(),()=>{F=!1}}async function ee(){for(q=!0;F||b.peek()===void 0;){if(!document.hidden)try{await te(),b.value=void 0}catch(e){b.value=e instanceof Error?e.message:String(e)}await new Promise(e=>setTimeout(e,J))}q=!1}async function te(){let e=R.value?{Authorization:`Bearer ${R.value}`}:{},[t,s]=await Promise.all([fetch("metrics",{headers:e,cache:"no-store"}),fetch("readyz",{cache:"no-store"})]);if(E.value=await s.json(),!t.ok)throw new Error(await ne(t));let n={time:Date.now()/1e3,metrics:O(await t.text())};x.value=[...x.value.filter(({time:r})=>r>n.time-X),n]}async function ne(e){return(await e.json().catch(()=>{}))?.errors?.[0]?.message??`/metrics answered ${e.status}`}var M=150,f=28,re=300;function G({points:e,now:t,label:s}){let n=e.map(({value:g})=>g),r=Math.max(...n,0),o=Math.min(...n,r),i=g=>(M-(t-g)/re*M).toFixed(1),a=g=>(r===o?f/2:f-2-(g-o)/(r-o)*(f-4)).toFixed(1),d=e.map(({time:g,value:w})=>`${i(g)},${a(w)}`).join(" "),[u,m]=[e[0],e.at(-1)];return c`
    <svg class="sparkline" viewBox=${`0 0 ${M} ${f}`} preserveAspectRatio="none" role="img" aria-label=${s||"no past yet"}>
      <line class="sparkline-ground" x1="0" x2=${M} y1=${f-1} y2=${f-1} vector-effect="non-scaling-stroke" />
      ${u&&m&&c`<polygon class="sparkline-area" points=${`${i(u.time)},${f-1} ${d} ${i(m.time)},${f-1}`} />`}
      <polyline points=${d} fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke" />
    </svg>
  `}function Se(){return $(W,[]),c`
    <div class="health">
      <h1>Health</h1>
      <${se} />
      ${b.value&&c`<p class="error" role="alert">${b.value}</p>`}
      ${L()&&c`<${N} />`}
      ${D.map(({title:e,figures:t})=>c`
          <section key=${e} aria-label=${e}>
            <h2>${e}</h2>
            <div class="figures">${t.map(s=>c`<${ae} key=${s.title} figure=${s} />`)}</div>
          </section>
        `)}
      <p class="note">Figures of all workers, every two seconds from the first look at this page on, from <a href="metrics">/metrics</a>.</p>
    </div>
  `}function se(){let{status:e,why:t,spark:s,workers:n,behind:r}=E.value;if(e===void 0)return null;let{all:o,ready:i}=n??{};return c`<p class=${`readiness ${e==="ready"?"ready":""}`} role="status">
    ${e==="ready"?"The server is ready.":`The server is not ready: ${String(t)}.`} Spark is ${String(s??"unknown")}.
    ${o===void 0?"":` ${i} of ${o} workers are ready.`} ${r?` It cannot read what others write: ${String(r)}.`:""}
  </p>`}function ae({figure:e}){let t=x.value,s=t.slice(1).flatMap(({time:i,metrics:a},d)=>{let u=t[d],m=e.value(a,u.metrics,Math.max(.1,i-u.time));return m===void 0?[]:[{time:i,value:m}]}),n=s.at(-1)?.value,r=s.filter(({value:i})=>Number.isFinite(i)),o=r.map(({value:i})=>i);return n===void 0&&e.isOptional?null:c`
    <div class="figure" title=${e.means}>
      <span class="figure-title">${e.title}</span>
      <strong>${n===void 0?"\u2013":e.written(n)}</strong>
      <${G}
        points=${r}
        now=${t.at(-1)?.time??0}
        label=${r.length<2?"":`from ${e.written(Math.min(...o))} to ${e.written(Math.max(...o))} in the last five minutes`}
      />
    </div>
  `}export{Se as Health};
