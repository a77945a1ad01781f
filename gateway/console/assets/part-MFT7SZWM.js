import{m as e}from"./part-RZWRK72K.js";var r=e(void 0);export{r as a};
