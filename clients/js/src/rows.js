/** Rows as a keyed set in which a row that stays is the same object for as long as it stays. */
import { AdalogError } from "./errors.js";
/** A change that cannot be: it retracts a row that is not there. */
export class Inconsistent extends Error {
}
export class RowSet {
    #key;
    #entries = new Map();
    constructor(key, columns) {
        this.#key = key === undefined ? undefined : keyOf(key, columns);
    }
    /** The rows in the order in which their keys came. */
    list() {
        const rows = [];
        for (const { row, count } of this.#entries.values()) {
            for (let i = 0; i < count; i += 1)
                rows.push(row);
        }
        return rows;
    }
    /** Takes out and puts in, together. Throws Inconsistent, and changes nothing, where a row to be taken out is not there. */
    apply(added, retracted) {
        const leaving = new Map();
        const gone = [];
        for (const row of retracted) {
            const text = canonical(row);
            const key = this.#key?.(row) ?? text;
            const entry = this.#entries.get(key);
            const times = (leaving.get(key) ?? 0) + 1;
            if (entry === undefined || entry.text !== text || entry.count < times) {
                throw new Inconsistent(`a row that is not there was retracted: ${text}`);
            }
            leaving.set(key, times);
            gone.push(entry.row);
        }
        const come = added.map((row) => {
            const text = canonical(row);
            return this.#put(row, text, leaving);
        });
        for (const [key, times] of leaving) {
            const entry = this.#entries.get(key);
            if (entry !== undefined && (entry.count -= times) === 0)
                this.#entries.delete(key);
        }
        return { added: come, retracted: gone };
    }
    /** Puts a row in; one whose key is leaving takes its place. Returns the row as it is kept. */
    #put(row, text, leaving) {
        const key = this.#key?.(row) ?? text;
        const entry = this.#entries.get(key);
        if (entry === undefined) {
            this.#entries.set(key, { row, text, count: 1 });
            return row;
        }
        if (this.#key === undefined) {
            entry.count += 1;
            return entry.row;
        }
        if (!leaving.delete(key)) {
            throw new AdalogError("KEY_NOT_UNIQUE", `two rows have the key ${key}: ${entry.text} and ${text}`);
        }
        entry.row = row;
        entry.text = text;
        return row;
    }
    /** What differs in the rows that `next` has; it takes over the objects of those that are the same in both. */
    differenceTo(next) {
        const added = [];
        const retracted = [];
        for (const [key, entry] of next.#entries) {
            const before = this.#entries.get(key);
            const same = before?.text === entry.text;
            if (same)
                entry.row = before.row;
            for (let i = same ? before.count : 0; i < entry.count; i += 1)
                added.push(entry.row);
        }
        for (const [key, entry] of this.#entries) {
            const after = next.#entries.get(key);
            for (let i = after?.text === entry.text ? after.count : 0; i < entry.count; i += 1)
                retracted.push(entry.row);
        }
        return { added, retracted };
    }
}
/** A value as text, the same for equal values however their maps are ordered. */
export function canonical(value) {
    const plain = typeof value !== "object" || (Array.isArray(value) && !value.some(isObject));
    return (plain ? JSON.stringify(value) : JSON.stringify(value, sorted)) ?? "null";
}
function isObject(value) {
    return typeof value === "object" && value !== null;
}
function sorted(_, value) {
    if (typeof value !== "object" || value === null || Array.isArray(value))
        return value;
    return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}
function keyOf(key, columns) {
    if (typeof key === "function")
        return (row) => canonical(key(row, columns));
    const positions = key.map((each) => {
        const position = typeof each === "number" ? each : columns.findIndex(({ name }) => name === each);
        if (position < 0 || position >= columns.length) {
            const known = columns.map(({ name }) => name).join(", ");
            throw new AdalogError("KEY_INVALID", `the key names the column ${each}; there are ${known}`);
        }
        return position;
    });
    return (row) => canonical(positions.map((position) => row[position]));
}
