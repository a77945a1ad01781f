import{g as o}from"./part-DQORJVED.js";function m(){return o`<h1>Whom</h1>`}export{m as Whom};
