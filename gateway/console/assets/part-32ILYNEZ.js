import{m as e}from"./part-C5S63P6X.js";var r=e(void 0);export{r as a};
