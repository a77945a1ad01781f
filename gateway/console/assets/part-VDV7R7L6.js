import{a as h}from"./part-AB74YKQT.js";import"./part-XLI5J4VL.js";function r(){return h`<h1>Change</h1>`}export{r as Change};
