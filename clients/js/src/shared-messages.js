/** The messages between pages and the worker that holds their connection. */
import { claimsOf } from "./credentials.js";
import { AdalogError } from "./errors.js";
import { canonical } from "./rows.js";
export function errorMessage(error) {
    if (error === undefined)
        return undefined;
    const { code, message, retryable, retryAfter, line, column, minBasisT } = error;
    return { code, message, retryable, retryAfter, line, column, minBasisT };
}
export function errorOf(error) {
    return error === undefined ? undefined : new AdalogError(error.code, error.message, error);
}
/**
 * What pages that share a connection have in common: the headers. Of a JSON Web Token it is all claims except those that change
 * with each token of a user; any other token is compared as a whole.
 */
export function identityOf(headers) {
    const claims = claimsOf(headers);
    if (claims === undefined)
        return canonical(headers);
    const { exp, iat, nbf, jti, ...lasting } = claims;
    return canonical({ ...headers, authorization: lasting });
}
