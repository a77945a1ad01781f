import{a}from"./part-TZZRX32V.js";export{a as draw};
