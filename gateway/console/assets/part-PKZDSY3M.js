import{a}from"./part-UFTJFVKS.js";export{a as draw};
