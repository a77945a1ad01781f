import{f as i}from"./part-GJOCZJZ7.js";function s(e,a){let r=n=>n.replaceAll(/[\t\r\n]+/g," ");return[...e.length>0?[e.map(({name:n})=>r(n)).join("	")]:[],...a.map(n=>n.map(t=>r(i(t))).join("	"))].join(`
`)}function m(e,a,{isGuarded:r}){let l=n=>{let t=i(n),o=r&&typeof n=="string"&&/^[=+\-@\t\r]/.test(t)?`'${t}`:t;return/[",\r\n]/.test(o)?`"${o.replaceAll('"','""')}"`:o};return[e.map(({name:n})=>l(n)),...a.map(n=>e.map((t,o)=>l(n[o])))].map(n=>`${n.join(",")}\r
`).join("")}function d(e,a){let r=n=>`| ${n.join(" | ")} |`,l=n=>n.replaceAll(/([\\|`*_<>[\]])/g,"\\$1").replaceAll(/[\r\n]+/g," ");return[r(e.map(({name:n})=>l(n))),r(e.map(()=>"---")),...a.map(n=>r(e.map((t,o)=>l(i(n[o])))))].join(`
`)}function c(e,a){let r=e.map(({name:n},t)=>e.findIndex(o=>o.name===n)<t?`${n} ${t+1}`:n);return`[${a.map(n=>JSON.stringify(Object.fromEntries(r.map((t,o)=>[t,n[o]??null])))).join(`,
 `)}]
`}export{s as a,m as b,d as c,c as d};
