/** EDN text with values in it: edn`[[:db/add 1 :issue/title ${title}]]`. */
/** EDN text that is put in as it stands. `tagged`: the same value as an argument in JSON, where it is a single value. */
export class Edn {
    text;
    tagged;
    constructor(text, tagged) {
        this.text = text;
        this.tagged = tagged;
    }
    toString() {
        return this.text;
    }
}
/**
 * Text in which each value is written as EDN: strings, booleans, numbers, bigints, dates (`#inst`), lists (a vector), Sets,
 * Maps, bytes (`Uint8Array`), and what `keyword`, `uuid`, `decimal`, `duration`, `symbol` and `edn` return. Throws TypeError for anything else, null among it.
 */
export function edn(texts, ...values) {
    return new Edn(texts.reduce((before, text, i) => before + written(values[i - 1]) + text));
}
/** `keyword(":issue/open")`, with or without its colon. */
export function keyword(name) {
    const bare = name.replace(/^:/, "");
    if (!NAME.test(bare))
        throw new TypeError(`${JSON.stringify(name)} is no keyword`);
    return new Edn(`:${bare}`, { "#kw": bare });
}
export function symbol(name) {
    if (!NAME.test(name))
        throw new TypeError(`${JSON.stringify(name)} is no symbol`);
    return new Edn(name, { "#sym": name });
}
export function uuid(text) {
    if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text))
        throw new TypeError(`${JSON.stringify(text)} is no uuid`);
    return new Edn(`#uuid "${text}"`, { "#uuid": text });
}
/** `decimal("9.90")`. */
export function decimal(text) {
    if (!/^-?(0|[1-9]\d*)(\.\d+)?$/.test(text))
        throw new TypeError(`${JSON.stringify(text)} is no decimal`);
    return new Edn(`${text}M`, { "#dec": text });
}
/** `duration("P1M2DT3H")`: ISO 8601, with at most three digits of fractions of a second. */
export function duration(text) {
    if (!DURATION.test(text))
        throw new TypeError(`${JSON.stringify(text)} is no duration`);
    return new Edn(`#duration "${text}"`, { "#duration": text });
}
const DURATION = /^[+-]?P(?=[\d+-]|T)([+-]?\d+Y)?([+-]?\d+M)?([+-]?\d+W)?([+-]?\d+D)?(T(?=[\d+-])([+-]?\d+H)?([+-]?\d+M)?([+-]?\d+([.,]\d{1,3}0*)?S)?)?$/;
const NAME = /^[A-Za-z*!_?$%&=<>][\w.*+!?$%&=<>-]*(\/[A-Za-z*!_?$%&=<>][\w.*+!?$%&=<>-]*)?$/;
function written(value) {
    if (value instanceof Edn)
        return value.text;
    // JSON's text is EDN's.
    if (typeof value === "string")
        return JSON.stringify(value);
    if (typeof value === "boolean")
        return String(value);
    if (typeof value === "bigint")
        return BigInt.asIntN(64, value) === value ? String(value) : `${value}N`;
    if (typeof value === "number" && Number.isFinite(value)) {
        if (Number.isInteger(value) && !Number.isSafeInteger(value))
            return value.toExponential().replace(/^(-?\d+)e/, "$1.0e");
        return String(value).replace(/^(-?\d+)e/, "$1.0e");
    }
    if (value instanceof Date)
        return `#inst "${value.toISOString()}"`;
    if (Array.isArray(value))
        return `[${value.map(written).join(" ")}]`;
    if (value instanceof Uint8Array)
        return `#bytes "${base64(value)}"`;
    if (value instanceof Set)
        return `#{${Array.from(value, written).join(" ")}}`;
    if (value instanceof Map)
        return `{${Array.from(value, (entry) => entry.map(written).join(" ")).join(" ")}}`;
    throw new TypeError(`${String(value)} cannot be written as EDN`);
}
/** The text of EDN that a caller gives. Throws TypeError for anything else. `name`: of what takes it. */
export function ednText(given, name) {
    if (typeof given === "string" || given instanceof Edn)
        return String(given);
    throw new TypeError(`${name} takes EDN text: edn\`[{:issue/title \${title}}]\``);
}
/** A query. Throws TypeError if it is no string. */
export function queryText(given) {
    if (typeof given === "string")
        return given;
    throw new TypeError('the query is a string: "[:find ?e :where …]"; its values are args');
}
export function base64(bytes) {
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}
