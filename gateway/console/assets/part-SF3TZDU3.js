import{a as l}from"./part-BGX5RPQL.js";import{e as i}from"./part-VTCKWQW5.js";function c({error:n}){if(n==null)return null;let e=n instanceof i?n:void 0,o=n instanceof Error?n.message:String(n),t=e?.line===void 0||o.includes(`line ${e.line}`)?"":`line ${e.line}, column ${e.column}: `;return l`<p class="error" role="alert">
    ${e&&l`<strong>${e.code}</strong> `}${t}${o}
  </p>`}export{c as a};
