import{f as y,g as v,h as m,i as h,j as b}from"./part-LV57CMH5.js";import{a as l}from"./part-H5APD4YT.js";import{a as g}from"./part-MYFEB7IN.js";var k={instant:{type:"datetime-local",step:1},long:{type:"text",inputmode:"numeric",placeholder:"number"},double:{type:"text",inputmode:"decimal",placeholder:"number"},keyword:{type:"text",placeholder:":keyword",spellcheck:!1},uuid:{type:"text",placeholder:"uuid",spellcheck:!1},string:{type:"text",placeholder:"text"}};function x(a){let{label:s,type:o,text:r,onChange:i,problem:u,name:f}=a,p={"aria-label":s,"aria-invalid":u?"true":void 0,"aria-describedby":u,name:f},d=n=>n.target.value;if(o==="ref")return l`<${E} ...${a} />`;let t=h(r,o);if(o==="boolean"&&t!==void 0)return l`<select ...${p} value=${t} onChange=${n=>i(d(n))}>
      <option value="">choose</option>
      <option value="true">true</option>
      <option value="false">false</option>
    </select>`;let c=t===void 0?void 0:k[o??""];return c===void 0?l`<input ...${p} value=${r===y?"":r} placeholder="EDN" spellcheck=${!1} class="mono" onInput=${n=>i(d(n))} />`:l`<input ...${p} ...${c} value=${t} onInput=${n=>i(b(d(n),o))} />`}function E({label:a,text:s,onChange:o,problem:r,name:i}){let u=g.value.filter(e=>e.unique!==null&&!/^:(db|graphql|policy)[./]/.test(e.ident)),[f,p="",...d]=v(s)??[],t=d.length===0?u.find(e=>e.ident===f):void 0,c=e=>{let $=e.target.value;o($===""?"":m([$,""]))},n=e=>o(t?m([t.ident,e]):e);return l`<span class="lookup">
    <select aria-label=${`${a}: which attribute names it`} value=${t?.ident??""} onChange=${c}>
      <option value="">id, ident</option>
      ${u.map(({ident:e})=>l`<option key=${e} value=${e}>${e}</option>`)}
    </select>
    <${x} label=${a} type=${t?.valueType??void 0} text=${t?p:s} onChange=${n} problem=${r} name=${i} />
  </span>`}export{x as a};
