import{a}from"./part-ENUQAHR5.js";export{a as draw};
