/** Arguments of queries as JSON: what JSON has no type for is tagged, as `{"#kw": "issue/open"}`. */
import { base64, Edn } from "./edn.js";
/** Beyond so many levels a value is taken for one that contains itself; the server allows no more. */
const DEEPEST = 64;
/** The arguments as they are sent. Throws TypeError, and says where, for what cannot be an argument. What is JSON already stays. */
export function jsonArguments(args) {
    if (!Array.isArray(args))
        throw new TypeError("args is a list, in the order of the query's :in: [value, …]; options come after it");
    return args.map((value, i) => {
        if (value instanceof Edn && value.tagged === undefined)
            return { "#edn": value.text };
        if (value === null)
            throw new TypeError(`args[${i}] is null, which is no value: leave its clause out, or pass edn\`nil\``);
        return tagged(value, `args[${i}]`, 0);
    });
}
function tagged(value, place, depth) {
    if (depth > DEEPEST)
        throw new TypeError(`${place} is nested more than ${DEEPEST} deep, or contains itself`);
    switch (typeof value) {
        case "string":
        case "boolean":
            return value;
        case "number":
            return Number.isFinite(value) ? value : { "#double": String(value) };
        case "bigint":
            return { [BigInt.asIntN(64, value) === value ? "#long" : "#bigint"]: String(value) };
        case "object":
            return value === null ? null : taggedObject(value, place, depth + 1);
        default:
            throw new TypeError(`${place} is ${shown(value)}, which cannot be an argument`);
    }
}
function taggedObject(value, place, depth) {
    const items = (each) => Array.from(each, (item, i) => tagged(item, `${place}[${i}]`, depth));
    if (value instanceof Edn) {
        if (value.tagged !== undefined)
            return value.tagged;
        throw new TypeError(`${place} is EDN text within a list or map: it can only be a whole argument`);
    }
    if (value instanceof Date) {
        if (Number.isNaN(value.getTime()))
            throw new TypeError(`${place} is an invalid Date`);
        return { "#inst": value.toISOString() };
    }
    if (Array.isArray(value))
        return items(value);
    if (value instanceof Set)
        return { "#set": items(value) };
    if (value instanceof Map)
        return { "#map": items(value) };
    if (value instanceof Uint8Array)
        return { "#bytes": base64(value) };
    if ("toJSON" in value && typeof value.toJSON === "function")
        return tagged(value.toJSON(), place, depth);
    const parent = Object.getPrototypeOf(value);
    if (parent !== null && Object.getPrototypeOf(parent) !== null) {
        throw new TypeError(`${place} is ${shown(value)}, which cannot be an argument`);
    }
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    return Object.fromEntries(entries.map(([key, item]) => [key, tagged(item, `${place}.${key}`, depth)]));
}
function shown(value) {
    if (typeof value === "object" && value !== null)
        return `a ${value.constructor.name}`;
    return typeof value === "function" ? "a function" : String(value);
}
