import{a as O}from"./part-PQQ22TZ7.js";import{a as c}from"./part-H5APD4YT.js";import{f as T}from"./part-5H6WSBG3.js";import{b as S,f as F}from"./part-CNZ6Q6GD.js";import"./part-ZJ7BM5PU.js";import"./part-VTCKWQW5.js";import{d as $,f as v,m as k}from"./part-RZWRK72K.js";var z=/^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/,U=/([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g;function Q(e){let t=new Map;for(let r of e.split(`
`)){let[,n,s="",o=""]=!r.startsWith("#")&&z.exec(r)||[];if(n===void 0)continue;let i=[...s.matchAll(U)].map(([,l="",m=""])=>[l,m.replace(/\\(.)/g,Y)]),a={labels:Object.fromEntries(i),value:C(o)},d=t.get(n);d?d.push(a):t.set(n,[a])}return t}function Y(e,t){return t==="n"?`
`:t}function C(e){return e==="+Inf"?Number.POSITIVE_INFINITY:Number(e)}function I(e,t){return Object.entries(t).every(([r,n])=>e.labels[r]===n)}function p(e,t,r={}){return B(e,t,r)?.reduce((n,s)=>n+s,0)}function P(e,t,r={}){return B(e,t,r)?.reduce((n,s)=>Math.max(n,s))}function B(e,t,r){let n=e.get(t)?.filter(s=>I(s,r)).map(({value:s})=>s);return n?.length?n:void 0}function D(e,t,r,n,s={}){let o=new Map,i=(l,m)=>{for(let g of l.get(`${t}_bucket`)??[]){if(!I(g,s))continue;let _=C(g.labels.le??"+Inf");o.set(_,(o.get(_)??0)+m*g.value)}};i(r,1),i(n,-1);let a=[...o].sort(([l],[m])=>l-m),d=a.at(-1)?.[1]??0;return d>0?a.find(([,l])=>l>=e*d)?.[0]:void 0}function u(e,t,r,n=W,s){return{title:e,means:r,written:n,isOptional:!0,value:o=>p(o,t,s)}}function h(...e){let[,t,,,r]=e;return{...u(...e),value:n=>P(n,t,r)}}function y(e,t,r,n,s=G){return{title:e,means:r,written:s,value:(o,i,a)=>Math.max(0,(p(o,t,n)??0)-(p(i,t,n)??0))/a}}function M(e,t,r,n,s){return{title:e,means:n,written:Z,value:(o,i)=>D(t,r,o,i,s)}}var N=[{title:"Requests",figures:[y("Requests","adalog_requests_total","GraphQL root fields answered, each second"),{title:"Errors",means:"Root fields that were answered with an error, each second",written:G,value:(e,t,r)=>{let n=s=>(p(s,"adalog_requests_total")??0)-(p(s,"adalog_requests_total",{code:"OK"})??0);return Math.max(0,n(e)-n(t))/r}},M("Median latency",.5,"adalog_request_seconds","Half of the requests took no longer than this bound"),M("p99 latency",.99,"adalog_request_seconds","99 % of the requests took no longer than this bound"),u("Connections","adalog_connections","Open connections"),y("Refused tokens","adalog_authentication_failures_total","Requests without a known token, each second")]},{title:"Queries",figures:[u("Running","adalog_queries_running","Queries that have a slot"),u("Running heavy","adalog_lane_running","Queries that have a slot of the heavy lane",W,{lane:"HEAVY"}),u("Waiting","adalog_queue_length","Queries that wait for a slot"),y("Cache hits","adalog_cache_total","Answers that the cache had, each second",{layer:"query",outcome:"hit"}),y("Cache misses","adalog_cache_total","Answers that were computed, each second",{layer:"query",outcome:"miss"}),u("Cache memory","adalog_cache_memory_bytes","Bytes of answers that are kept",b)]},{title:"Live queries",figures:[u("Subscriptions","adalog_live_subscriptions","Open subscriptions"),u("Streams","adalog_streams","Connections that are open for events"),u("Views","adalog_live_views","Queries that are maintained; queries that differ in their arguments count once"),y("Events","adalog_live_events_total","Events for subscribers, each second"),M("p99 lag",.99,"adalog_live_lag_seconds","From a transaction until its events wait for their subscribers"),u("Memory","adalog_live_bytes","Bytes that views keep",b)]},{title:"Database",figures:[h("Transaction","adalog_basis_t","The newest transaction number"),h("Datoms","adalog_datoms","Datoms that hold now"),h("Entities","adalog_entities","Entities with a datom"),u("Tries and dictionary","adalog_store_memory_bytes","Bytes in memory",b)]},{title:"Log and disks",figures:[M("p99 commit",.99,"adalog_request_seconds","99 % of the transactions were durable within this bound",{field:"transact"}),u("Waiting transactions","adalog_transactions_waiting","Transactions that are not answered yet"),u("Log failures","adalog_log_failures_total","Writes to the log that failed since the start"),u("Behind the log","adalog_behind","Servers and workers that do not see what others write"),h("Free disk: data","adalog_disk_free_bytes","Bytes left on the disk of the data folder",b,{place:"data"}),h("Free disk: segments","adalog_disk_free_bytes","Bytes left on the disk of the segments that gateways share",b,{place:"segments"}),h("Last backup","adalog_last_backup_timestamp_seconds","When the database was backed up last, by any server or command",K)]},{title:"Process",figures:[y("CPU","process_cpu_seconds_total","Cores in use",{},e=>e.toFixed(2)),u("Memory","process_resident_memory_bytes","Resident bytes of all workers",b),u("Descriptors","process_open_fds","Open file descriptors"),u("Workers","adalog_workers_ready","Workers that are ready")]}];function W(e){return e.toLocaleString("en",{maximumFractionDigits:0})}function G(e){return`${e.toLocaleString("en",{maximumFractionDigits:e<10?1:0})}/s`}function K(e){return new Date(e*1e3).toISOString().slice(0,16).replace("T"," ")}function Z(e){return Number.isFinite(e)?e<1?`\u2264 ${(e*1e3).toLocaleString("en",{maximumFractionDigits:1})} ms`:`\u2264 ${e} s`:"over 60 s"}var A=["B","KB","MB","GB","TB"];function b(e){let t=e<1?0:Math.min(A.length-1,Math.floor(Math.log10(e)/3));return`${(e/1e3**t).toLocaleString("en",{maximumFractionDigits:t<2?0:1})} ${A[t]}`}var J="{ runningQueries { id text principal elapsedMs waitedMs lane isRunning } }",X="mutation ($id: ID!) { cancelQuery(id: $id) }",ee=1e3;function H(){let[e,t]=$([]),[r,n]=$(),[s,o]=$("");v(()=>{let a=new AbortController;return(async()=>{for(;!a.signal.aborted;){try{t((await F(J,{},a.signal)).runningQueries),n(void 0)}catch(l){a.signal.aborted||n(l)}await new Promise(l=>setTimeout(l,ee))}})(),()=>a.abort()},[]);let i=async({id:a})=>{try{let{cancelQuery:d}=await F(X,{id:a});o(d?"The query was cancelled.":"The query had ended."),t(l=>l.filter(m=>m.id!==a))}catch(d){n(d)}};return c`
    <section aria-label="Running queries">
      <h2>Running queries</h2>
      <${O} error=${r} />
      <p class="hidden" role="status">${s}</p>
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
  `}var te=2e3,ne=300,x=k([]),E=k({}),w=k(void 0),q=!1,L=!1;function j(){return q=!0,L||re(),()=>{q=!1}}async function re(){for(L=!0;q||w.peek()===void 0;){if(!document.hidden)try{await se(),w.value=void 0}catch(e){w.value=e instanceof Error?e.message:String(e)}await new Promise(e=>setTimeout(e,te))}L=!1}async function se(){let e=S.value?{Authorization:`Bearer ${S.value}`}:{},[t,r]=await Promise.all([fetch("metrics",{headers:e,cache:"no-store"}),fetch("readyz",{cache:"no-store"})]);if(E.value=await r.json(),!t.ok)throw new Error(await ae(t));let n={time:Date.now()/1e3,metrics:Q(await t.text())};x.value=[...x.value.filter(({time:s})=>s>n.time-ne),n]}async function ae(e){return(await e.json().catch(()=>{}))?.errors?.[0]?.message??`/metrics answered ${e.status}`}var R=150,f=28,oe=300;function V({points:e,now:t,label:r}){let n=e.map(({value:g})=>g),s=Math.max(...n,0),o=Math.min(...n,s),i=g=>(R-(t-g)/oe*R).toFixed(1),a=g=>(s===o?f/2:f-2-(g-o)/(s-o)*(f-4)).toFixed(1),d=e.map(({time:g,value:_})=>`${i(g)},${a(_)}`).join(" "),[l,m]=[e[0],e.at(-1)];return c`
    <svg class="sparkline" viewBox=${`0 0 ${R} ${f}`} preserveAspectRatio="none" role="img" aria-label=${r||"no past yet"}>
      <line class="sparkline-ground" x1="0" x2=${R} y1=${f-1} y2=${f-1} vector-effect="non-scaling-stroke" />
      ${l&&m&&c`<polygon class="sparkline-area" points=${`${i(l.time)},${f-1} ${d} ${i(m.time)},${f-1}`} />`}
      <polyline points=${d} fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke" />
    </svg>
  `}function Le(){return v(j,[]),c`
    <div class="health">
      <h1>Health</h1>
      <${ie} />
      ${w.value&&c`<p class="error" role="alert">${w.value}</p>`}
      ${T()&&c`<${H} />`}
      ${N.map(({title:e,figures:t})=>c`
          <section key=${e} aria-label=${e}>
            <h2>${e}</h2>
            <div class="figures">${t.map(r=>c`<${le} key=${r.title} figure=${r} />`)}</div>
          </section>
        `)}
      <p class="note">Figures of all workers, every two seconds from the first look at this page on, from <a href="metrics">/metrics</a>.</p>
    </div>
  `}function ie(){let{status:e,why:t,spark:r,workers:n,behind:s}=E.value;if(e===void 0)return null;let{all:o,ready:i}=n??{};return c`<p class=${`readiness ${e==="ready"?"ready":""}`} role="status">
    ${e==="ready"?"The server is ready.":`The server is not ready: ${String(t)}.`} Spark is ${String(r??"unknown")}.
    ${o===void 0?"":` ${i} of ${o} workers are ready.`} ${s?` It cannot read what others write: ${String(s)}.`:""}
  </p>`}function le({figure:e}){let t=x.value,r=t.slice(1).flatMap(({time:i,metrics:a},d)=>{let l=t[d],m=e.value(a,l.metrics,Math.max(.1,i-l.time));return m===void 0?[]:[{time:i,value:m}]}),n=r.at(-1)?.value,s=r.filter(({value:i})=>Number.isFinite(i)),o=s.map(({value:i})=>i);return n===void 0&&e.isOptional?null:c`
    <div class="figure" title=${e.means}>
      <span class="figure-title">${e.title}</span>
      <strong>${n===void 0?"\u2013":e.written(n)}</strong>
      <${V}
        points=${s}
        now=${t.at(-1)?.time??0}
        label=${s.length<2?"":`from ${e.written(Math.min(...o))} to ${e.written(Math.max(...o))} in the last five minutes`}
      />
    </div>
  `}export{Le as Health};
