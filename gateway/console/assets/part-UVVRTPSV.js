import{a as i}from"./part-BGX5RPQL.js";import{f as a,h as l,n as u}from"./part-ST7TEUSA.js";var n=u([]);function b(r,t,o){n.value=[...n.value,{title:r,component:t,properties:o}]}function c(){n.value=[]}function p(){n.value=n.value.slice(0,-1)}function v(){let r=l(null),t=l(null),o=n.value,e=o.at(-1);if(a(()=>{if(e===void 0){t.current?.focus(),t.current=null;return}t.current??=document.activeElement,r.current?.focus()},[e]),e===void 0)return null;let d=s=>{s.key==="Escape"&&!s.defaultPrevented&&c()};return i`
    <aside class="side" aria-label=${e.title} onKeyDown=${d}>
      <header class="row">
        ${o.length>1&&i`<button type="button" class="quiet" onClick=${p}>← Back</button>`}
        <h2 ref=${r} tabindex="-1">${e.title}</h2>
        <button type="button" class="quiet" aria-label="Close the panel" onClick=${c}>✕</button>
      </header>
      <div class="side-content"><${e.component} key=${o.length} ...${e.properties} /></div>
    </aside>
  `}export{b as a,c as b,v as c};
