/** The headers and tokens of connections and requests: requested again before a token expires and after a refusal. */
import { AdalogError, network } from "./errors.js";
export function credentialsOf({ headers, token }) {
    async function current(stale) {
        const given = typeof headers === "function" ? await headers() : headers;
        const text = typeof token === "function" ? await token(stale && bearerOf(stale)) : token;
        const all = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]));
        return text === undefined ? all : { ...all, authorization: `Bearer ${text}` };
    }
    return {
        headers: current,
        async other(refused) {
            if (typeof token !== "function" && typeof headers !== "function")
                return undefined;
            const fresh = await current(refused);
            return fresh["authorization"] === undefined || isSame(fresh, refused) ? undefined : fresh;
        },
        async after(refused, refusal) {
            const failed = (why, cause) => new AdalogError(refusal.code, `${refusal.message} (${why})`, cause === undefined ? {} : { cause });
            if (typeof token !== "function" && typeof headers !== "function") {
                throw failed(token === undefined ? "no `token` was given" : "the token is a text: give a function, which is asked for another one");
            }
            let fresh;
            try {
                fresh = await current(refused);
            }
            catch (cause) {
                // What `fetch` rejects with where there is no network.
                if (cause instanceof TypeError || cause?.retryable === true)
                    throw network(cause);
                throw failed(`a new token cannot be had: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
            }
            if (fresh["authorization"] === undefined)
                throw failed("there is no new token");
            if (isSame(fresh, refused))
                throw failed("the token is still the one that was refused");
            return fresh;
        },
    };
}
export function isSame(one, other) {
    const names = Object.keys(one);
    return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}
export function bearerOf(headers) {
    return /^bearer +(\S+)$/i.exec(headers["authorization"] ?? "")?.[1];
}
/** The claims of the token, if it is a JSON Web Token. They are not verified: the server does that. */
export function claimsOf(headers) {
    const [, payload, ...rest] = bearerOf(headers)?.split(".") ?? [];
    if (payload === undefined || rest.length !== 1)
        return undefined;
    try {
        const bytes = Uint8Array.from(atob(payload.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
        const claims = JSON.parse(new TextDecoder().decode(bytes));
        return typeof claims === "object" && claims !== null ? claims : undefined;
    }
    catch {
        return undefined;
    }
}
/** Whether the one expires later; or differs from the other, if either does not say when it expires. */
export function isNewer(one, other) {
    const [exp, otherExp] = [claimsOf(one)?.["exp"], claimsOf(other)?.["exp"]];
    return typeof exp === "number" && typeof otherExp === "number" ? exp > otherExp : !isSame(one, other);
}
/** A token is renewed at most so long before it expires, and a fifth of its lifetime at most. */
const MOST_EARLY_MS = 30_000;
/** In how many milliseconds the token is to be renewed; undefined where that is not known, or too late. */
export function renewalDelay(headers) {
    const { exp, iat } = claimsOf(headers) ?? {};
    if (typeof exp !== "number")
        return undefined;
    const left = exp * 1000 - Date.now();
    if (left <= 0)
        return undefined;
    const lifetime = typeof iat === "number" && iat < exp ? (exp - iat) * 1000 : left;
    return Math.max(left - Math.min(MOST_EARLY_MS, lifetime / 5), left / 2);
}
