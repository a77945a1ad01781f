import{n as e}from"./part-ST7TEUSA.js";var r=e(void 0);export{r as a};
