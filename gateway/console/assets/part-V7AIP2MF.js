import{g as h}from"./part-DQORJVED.js";function r(){return h`<h1>Change</h1>`}export{r as Change};
