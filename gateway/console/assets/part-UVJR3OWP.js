import{a as Q}from"./part-I5A673K4.js";import{a as O}from"./part-SF3TZDU3.js";import{a as d}from"./part-BGX5RPQL.js";import{f as T}from"./part-E36UJHIO.js";import{b as S,f as F}from"./part-XTEOP6XV.js";import"./part-ZJ7BM5PU.js";import"./part-VTCKWQW5.js";import{d as $,f as v,n as k}from"./part-ST7TEUSA.js";var K=/^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/,U=/([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g;function C(e){let t=new Map;for(let r of e.split(`
`)){let[,n,s="",o=""]=!r.startsWith("#")&&K.exec(r)||[];if(n===void 0)continue;let i=[...s.matchAll(U)].map(([,l="",u=""])=>[l,u.replace(/\\(.)/g,Y)]),m={labels:Object.fromEntries(i),value:I(o)},a=t.get(n);a?a.push(m):t.set(n,[m])}return t}function Y(e,t){return t==="n"?`
`:t}function I(e){return e==="+Inf"?Number.POSITIVE_INFINITY:Number(e)}function P(e,t){return Object.entries(t).every(([r,n])=>e.labels[r]===n)}function p(e,t,r={}){return D(e,t,r)?.reduce((n,s)=>n+s,0)}function B(e,t,r={}){return D(e,t,r)?.reduce((n,s)=>Math.max(n,s))}function D(e,t,r){let n=e.get(t)?.filter(s=>P(s,r)).map(({value:s})=>s);return n?.length?n:void 0}function A(e,t,r,n,s={}){let o=new Map,i=(l,u)=>{for(let g of l.get(`${t}_bucket`)??[]){if(!P(g,s))continue;let _=I(g.labels.le??"+Inf");o.set(_,(o.get(_)??0)+u*g.value)}};i(r,1),i(n,-1);let m=[...o].sort(([l],[u])=>l-u),a=m.at(-1)?.[1]??0;return a>0?m.find(([,l])=>l>=e*a)?.[0]:void 0}function c(e,t,r,n=W,s){return{title:e,means:r,written:n,isOptional:!0,value:o=>p(o,t,s)}}function h(...e){let[,t,,,r]=e;return{...c(...e),value:n=>B(n,t,r)}}function y(e,t,r,n,s=G){return{title:e,means:r,written:s,value:(o,i,m)=>Math.max(0,(p(o,t,n)??0)-(p(i,t,n)??0))/m}}function M(e,t,r,n,s){return{title:e,means:n,written:J,value:(o,i)=>A(t,r,o,i,s)}}var H=[{title:"Requests",figures:[y("Requests","adalog_requests_total","GraphQL root fields answered, each second"),{title:"Errors",means:"Root fields that were answered with an error, each second",written:G,value:(e,t,r)=>{let n=s=>(p(s,"adalog_requests_total")??0)-(p(s,"adalog_requests_total",{code:"OK"})??0);return Math.max(0,n(e)-n(t))/r}},M("Median latency",.5,"adalog_request_seconds","Half of the requests took no longer than this bound"),M("p99 latency",.99,"adalog_request_seconds","99 % of the requests took no longer than this bound"),c("Connections","adalog_connections","Open connections"),y("Refused tokens","adalog_authentication_failures_total","Requests without a known token, each second")]},{title:"Queries",figures:[c("Running","adalog_queries_running","Queries that have a slot"),c("Running heavy","adalog_lane_running","Queries that have a slot of the heavy lane",W,{lane:"HEAVY"}),c("Waiting","adalog_queue_length","Queries that wait for a slot"),y("Cache hits","adalog_cache_total","Answers that the cache had, each second",{layer:"query",outcome:"hit"}),y("Cache misses","adalog_cache_total","Answers that were computed, each second",{layer:"query",outcome:"miss"}),c("Cache memory","adalog_cache_memory_bytes","Bytes of answers that are kept",b)]},{title:"Live queries",figures:[c("Subscriptions","adalog_live_subscriptions","Open subscriptions"),c("Streams","adalog_streams","Connections that are open for events"),c("Views","adalog_live_views","Queries that are maintained; queries that differ in their arguments count once"),y("Events","adalog_live_events_total","Events for subscribers, each second"),M("p99 lag",.99,"adalog_live_lag_seconds","From a transaction until its events wait for their subscribers"),c("Memory","adalog_live_bytes","Bytes that views keep",b)]},{title:"Database",figures:[h("Transaction","adalog_basis_t","The newest transaction number"),h("Datoms","adalog_datoms","Datoms that hold now"),h("Entities","adalog_entities","Entities with a datom"),c("Tries and dictionary","adalog_store_memory_bytes","Bytes in memory",b)]},{title:"Log and disks",figures:[M("p99 commit",.99,"adalog_request_seconds","99 % of the transactions were durable within this bound",{field:"transact"}),c("Waiting transactions","adalog_transactions_waiting","Transactions that are not answered yet"),c("Log failures","adalog_log_failures_total","Writes to the log that failed since the start"),c("Behind the log","adalog_behind","Servers and workers that do not see what others write"),h("Free disk: data","adalog_disk_free_bytes","Bytes left on the disk of the data folder",b,{place:"data"}),h("Free disk: segments","adalog_disk_free_bytes","Bytes left on the disk of the segments that gateways share",b,{place:"segments"}),h("Last backup","adalog_last_backup_timestamp_seconds","When the database was backed up last, by any server or command",Z)]},{title:"Process",figures:[y("CPU","process_cpu_seconds_total","Cores in use",{},e=>e.toFixed(2)),c("Memory","process_resident_memory_bytes","Resident bytes of all workers",b),c("Descriptors","process_open_fds","Open file descriptors"),c("Workers","adalog_workers_ready","Workers that are ready")]}];function W(e){return e.toLocaleString("en",{maximumFractionDigits:0})}function G(e){return`${e.toLocaleString("en",{maximumFractionDigits:e<10?1:0})}/s`}function Z(e){return new Date(e*1e3).toISOString().slice(0,16).replace("T"," ")}function J(e){return Number.isFinite(e)?e<1?`\u2264 ${(e*1e3).toLocaleString("en",{maximumFractionDigits:1})} ms`:`\u2264 ${e} s`:"over 60 s"}var N=["B","KB","MB","GB","TB"];function b(e){let t=e<1?0:Math.min(N.length-1,Math.floor(Math.log10(e)/3));return`${(e/1e3**t).toLocaleString("en",{maximumFractionDigits:t<2?0:1})} ${N[t]}`}var X="{ runningQueries { id text principal elapsedMs waitedMs lane isRunning } }",ee="mutation ($id: ID!) { cancelQuery(id: $id) }",te=1e3;function j(){let[e,t]=$([]),[r,n]=$(),[s,o]=$(""),i=Q();v(()=>{let a=new AbortController;return(async()=>{for(;!a.signal.aborted;){try{t((await F(X,{},a.signal)).runningQueries),n(void 0)}catch(u){a.signal.aborted||n(u)}await new Promise(u=>setTimeout(u,te))}})(),()=>a.abort()},[]);let m=async({id:a})=>{try{let{cancelQuery:l}=await F(ee,{id:a});o(l?"The query was cancelled.":"The query had ended."),t(u=>u.filter(g=>g.id!==a))}catch(l){n(l)}};return d`
    <section ref=${i} tabindex="-1" aria-label="Running queries">
      <h2>Running queries</h2>
      <${O} error=${r} />
      <p class="hidden" role="status">${s}</p>
      ${e.length===0?d`<p class="note">No query waits or runs.</p>`:d`<ul class="running">
            ${e.map(a=>d`<li key=${a.id}>
                <pre tabindex="0" aria-label="Query">${a.text}</pre>
                <span>
                  ${a.isRunning?"runs":"waits"}, ${(a.elapsedMs/1e3).toFixed(1)} s, of which ${(a.waitedMs/1e3).toFixed(1)} s waiting;
                  ${a.lane.toLowerCase()} lane; asked by ${a.principal}
                </span>
                <button type="button" onClick=${()=>{m(a)}}>Cancel</button>
              </li>`)}
          </ul>`}
    </section>
  `}var ne=2e3,re=300,x=k([]),E=k({}),w=k(void 0),L=!1,q=!1;function V(){return L=!0,q||se(),()=>{L=!1}}async function se(){for(q=!0;L||w.peek()===void 0;){if(!document.hidden)try{await ae(),w.value=void 0}catch(e){w.value=e instanceof Error?e.message:String(e)}await new Promise(e=>setTimeout(e,ne))}q=!1}async function ae(){let e=S.value?{Authorization:`Bearer ${S.value}`}:{},[t,r]=await Promise.all([fetch("metrics",{headers:e,cache:"no-store"}),fetch("readyz",{cache:"no-store"})]);if(E.value=await r.json(),!t.ok)throw new Error(await oe(t));let n={time:Date.now()/1e3,metrics:C(await t.text())};x.value=[...x.value.filter(({time:s})=>s>n.time-re),n]}async function oe(e){return(await e.json().catch(()=>{}))?.errors?.[0]?.message??`/metrics answered ${e.status}`}var R=150,f=28,ie=300;function z({points:e,now:t,label:r}){let n=e.map(({value:g})=>g),s=Math.max(...n,0),o=Math.min(...n,s),i=g=>(R-(t-g)/ie*R).toFixed(1),m=g=>(s===o?f/2:f-2-(g-o)/(s-o)*(f-4)).toFixed(1),a=e.map(({time:g,value:_})=>`${i(g)},${m(_)}`).join(" "),[l,u]=[e[0],e.at(-1)];return d`
    <svg class="sparkline" viewBox=${`0 0 ${R} ${f}`} preserveAspectRatio="none" role="img" aria-label=${r||"no past yet"}>
      <line class="sparkline-ground" x1="0" x2=${R} y1=${f-1} y2=${f-1} vector-effect="non-scaling-stroke" />
      ${l&&u&&d`<polygon class="sparkline-area" points=${`${i(l.time)},${f-1} ${a} ${i(u.time)},${f-1}`} />`}
      <polyline points=${a} fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke" />
    </svg>
  `}function Te(){return v(V,[]),d`
    <div class="health">
      <h1>Health</h1>
      <${le} />
      ${w.value&&d`<p class="error" role="alert">${w.value}</p>`}
      ${T()&&d`<${j} />`}
      ${H.map(({title:e,figures:t})=>d`
          <section key=${e} aria-label=${e}>
            <h2>${e}</h2>
            <div class="figures">${t.map(r=>d`<${ue} key=${r.title} figure=${r} />`)}</div>
          </section>
        `)}
      <p class="note">Figures of all workers, every two seconds from the first look at this page on, from <a href="metrics">/metrics</a>.</p>
    </div>
  `}function le(){let{status:e,why:t,spark:r,workers:n,behind:s}=E.value;if(e===void 0)return null;let{all:o,ready:i}=n??{};return d`<p class=${`readiness ${e==="ready"?"ready":""}`} role="status">
    ${e==="ready"?"The server is ready.":`The server is not ready: ${String(t)}.`} Spark is ${String(r??"unknown")}.
    ${o===void 0?"":` ${i} of ${o} workers are ready.`} ${s?` It cannot read what others write: ${String(s)}.`:""}
  </p>`}function ue({figure:e}){let t=x.value,r=t.slice(1).flatMap(({time:i,metrics:m},a)=>{let l=t[a],u=e.value(m,l.metrics,Math.max(.1,i-l.time));return u===void 0?[]:[{time:i,value:u}]}),n=r.at(-1)?.value,s=r.filter(({value:i})=>Number.isFinite(i)),o=s.map(({value:i})=>i);return n===void 0&&e.isOptional?null:d`
    <div class="figure" title=${e.means}>
      <span class="figure-title">${e.title}</span>
      <strong>${n===void 0?"\u2013":e.written(n)}</strong>
      <${z}
        points=${s}
        now=${t.at(-1)?.time??0}
        label=${s.length<2?"":`from ${e.written(Math.min(...o))} to ${e.written(Math.max(...o))} in the last five minutes`}
      />
    </div>
  `}export{Te as Health};
