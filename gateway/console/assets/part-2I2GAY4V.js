import{g as t}from"./part-DQORJVED.js";function r(){return t`<h1>Health</h1>`}export{r as Health};
