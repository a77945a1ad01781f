import{k as e}from"./part-Z7GPKOMW.js";var r=e(void 0);export{r as a};
