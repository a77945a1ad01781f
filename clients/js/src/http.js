/** GraphQL over HTTP: requests, and the errors that they end in. */
import { credentialsOf } from "./credentials.js";
import { AdalogError, fromWire, network } from "./errors.js";
/** Sends an operation and returns the response, whatever its status. A token that is refused is renewed, once. */
export async function post(endpoint, operation, accept, signal) {
    // What cannot be JSON is the caller's mistake, and not the network's.
    const body = JSON.stringify(operation);
    const credentials = credentialsOf(endpoint);
    const headers = await credentials.headers();
    const response = await send(endpoint, body, accept, headers, signal);
    if (response.status !== 401)
        return response;
    const fresh = await credentials.other(headers);
    if (fresh === undefined)
        return response;
    await response.body?.cancel();
    return send(endpoint, body, accept, fresh, signal);
}
/** Sends a request once. */
export async function send({ url, fetch }, body, accept, headers, signal) {
    signal?.throwIfAborted();
    try {
        return await fetch(url, {
            method: "POST",
            headers: { ...headers, accept, "content-type": "application/json" },
            body,
            cache: "no-store",
            ...(signal === undefined ? {} : { signal }),
        });
    }
    catch (error) {
        signal?.throwIfAborted();
        throw network(error);
    }
}
/** An answer that came whole, with data. `heard`: called when a piece of it has come. */
export async function answerOf(response, signal, heard) {
    let text;
    try {
        text = await textOf(response, heard);
    }
    catch (error) {
        signal?.throwIfAborted();
        throw network(error);
    }
    let answer;
    try {
        answer = JSON.parse(text);
    }
    catch {
        throw refused(response, text);
    }
    if (answer?.errors?.length)
        throw fromWire(answer.errors, retryAfter(response));
    if (!response.ok || answer?.data === undefined || answer.data === null)
        throw refused(response, text);
    return { data: answer.data, warnings: answer.extensions?.warnings ?? [] };
}
async function textOf(response, heard) {
    // Not every `fetch` has streams.
    if (heard === undefined || !response.body)
        return response.text();
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let text = "";
    for (;;) {
        const { done, value } = await reader.read();
        if (done)
            return text + decoder.decode();
        heard();
        text += decoder.decode(value, { stream: true });
    }
}
/** A response in another form than GraphQL's: a proxy's, most likely. */
function refused(response, text) {
    const said = text.trim().slice(0, 200);
    const message = `the server answered ${response.status}${said === "" ? "" : `: ${said}`}`;
    if (response.status === 429)
        return new AdalogError("RATE_LIMITED", message, transient(response));
    if (response.status === 408 || response.status >= 500) {
        return new AdalogError("BACKEND_UNAVAILABLE", message, transient(response));
    }
    if (response.status === 401)
        return new AdalogError("UNAUTHENTICATED", message);
    return new AdalogError(response.status === 403 ? "FORBIDDEN" : "PROTOCOL", message);
}
function transient(response) {
    return { retryable: true, retryAfter: retryAfter(response) };
}
function retryAfter(response) {
    const header = response.headers.get("retry-after");
    if (header === null)
        return undefined;
    const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
    return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
