import{g as h}from"./part-DQORJVED.js";function r(){return h`<h1>Schema</h1>`}export{r as Schema};
