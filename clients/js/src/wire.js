/** What travels: the types of the GraphQL contract that this client reads and writes. */
/** Whether the first long is greater; both may be digits. */
export function isAfter(one, other) {
    return typeof one === "number" && typeof other === "number" ? one > other : BigInt(one) > BigInt(other);
}
/** The next transaction's number. */
export function after(t) {
    return typeof t === "number" ? t + 1 : String(BigInt(t) + 1n);
}
