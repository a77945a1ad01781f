/**
 * A connection over server-sent events: one request for all subscriptions. Where their set or the token changes, another request
 * takes its place, which goes on where the one before was: no server has to know anything of either.
 */
import { AdalogError, network } from "./errors.js";
import { eventStream } from "./event-stream.js";
import { answerOf, send } from "./http.js";
import { silence } from "./silence.js";
import { onWake } from "./wake.js";
/** The most operations of one request. */
const MOST_OPERATIONS = 256;
/** The previous stream stays open this long after the next one has opened: the server keeps the views that both need. */
const OVERLAP_MS = 1000;
/** Then the previous stream is closed although the next one has not opened: the browser may have no connection left. */
const PATIENCE_MS = 3000;
/** `silenceMs`: a stream that was silent for so long counts as lost. */
export function eventStreamLinks(address, silenceMs) {
    return (headers, listener, operation) => {
        const ids = new Set();
        /** The subscriptions for which `sent` was called. */
        const sent = new Set();
        const open = new Set();
        let current;
        let isChanging = false;
        let isClosed = false;
        const closeAll = () => {
            isClosed = true;
            for (const stream of open)
                stream.stop();
            current = undefined;
        };
        const change = () => {
            if (isChanging)
                return;
            isChanging = true;
            queueMicrotask(() => {
                isChanging = false;
                const isCarried = current !== undefined && ids.size === current.ids.size && [...ids].every((id) => current.ids.has(id));
                if (ids.size > 0 && !isCarried && !isClosed)
                    begin();
            });
        };
        const begin = () => {
            const before = [...open];
            const stopBefore = (which = () => true) => {
                for (const stream of before.filter(which)) {
                    stream.stop();
                    open.delete(stream);
                }
            };
            // One previous stream is enough; a browser opens at most six connections to a server.
            const last = before.filter(({ isOpen }) => isOpen).at(-1);
            stopBefore((stream) => stream !== last);
            let patience = setTimeout(() => stopBefore(), PATIENCE_MS);
            const stopping = new AbortController();
            const stream = {
                ids: new Set(ids),
                isOpen: false,
                stop() {
                    clearTimeout(patience);
                    stopping.abort();
                },
            };
            // From now on, this stream brings the events of the previous one, too.
            current = stream;
            open.add(stream);
            const ifCurrent = (act) => {
                if (current === stream)
                    act();
            };
            const operations = [...ids].map((id) => {
                const { query, variables, extensions } = operation(id);
                return { query, variables, extensions: { ...extensions, operationId: id } };
            });
            const receive = (events) => {
                const answers = new Map();
                const completed = [];
                let refusal;
                for (const { name, data } of events) {
                    const { id, payload } = JSON.parse(data);
                    if (payload === undefined) {
                        if (name === "complete")
                            completed.push(id);
                        continue;
                    }
                    refusal = payload.errors?.find(isRefusal);
                    if (refusal !== undefined)
                        break;
                    if (payload.errors?.length)
                        stream.ids.delete(id);
                    const those = answers.get(id);
                    if (those === undefined)
                        answers.set(id, [payload]);
                    else
                        those.push(payload);
                }
                for (const [id, those] of answers)
                    if (current === stream && ids.has(id))
                        listener.next(id, those);
                for (const id of completed) {
                    if (current !== stream || !ids.delete(id))
                        continue;
                    stream.ids.delete(id);
                    listener.end(id);
                }
                if (current === stream && refusal !== undefined)
                    end(new AdalogError("UNAUTHENTICATED", refusal.message));
            };
            receiveEvents(address, headers, operations, silenceMs, stopping.signal, (events) => ifCurrent(() => receive(events)), () => ifCurrent(() => {
                clearTimeout(patience);
                stream.isOpen = true;
                patience = setTimeout(() => stopBefore(), OVERLAP_MS);
                listener.opened();
                for (const id of stream.ids) {
                    if (!ids.has(id) || sent.has(id))
                        continue;
                    sent.add(id);
                    listener.sent(id);
                }
            })).then(() => ifCurrent(() => end(network("the event stream has ended"))), (error) => ifCurrent(() => end(error instanceof AdalogError ? error : network(error))));
        };
        const end = (error) => {
            // All operations have ended, so nothing is lost.
            if (ids.size === 0)
                return;
            closeAll();
            if (error.code === "UNAUTHENTICATED")
                listener.refused(error);
            else
                listener.lost(error);
        };
        return {
            add(id) {
                if (ids.size >= MOST_OPERATIONS) {
                    const most = `there are ${MOST_OPERATIONS} live queries on this connection already`;
                    queueMicrotask(() => listener.end(id, new AdalogError("RATE_LIMITED", most, { retryable: true, retryAfter: 1000 })));
                    return;
                }
                ids.add(id);
                change();
            },
            remove(id) {
                if (ids.delete(id))
                    change();
                sent.delete(id);
            },
            renew(fresh) {
                headers = fresh;
                if (ids.size > 0)
                    begin();
            },
            close: closeAll,
        };
    };
}
function isRefusal({ extensions }) {
    return extensions?.["code"] === "UNAUTHENTICATED";
}
/** Reads the events of one response to its end, or until it is stopped. */
async function receiveEvents(address, headers, operations, silenceMs, stopped, receive, opened) {
    const watch = silence(silenceMs, stopped);
    const { signal } = watch;
    // After a sleep the connection is most likely gone, and the timer has yet to notice.
    const stopListening = onWake(() => watch.lasts() > silenceMs / 2 && watch.lost());
    // A body that has ended in the moment of an abort may never be read to its end.
    const aborted = new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    const read = async () => {
        const response = await send(address, JSON.stringify(operations), "text/event-stream", headers, signal);
        if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
            await answerOf(response, signal);
            throw new AdalogError("PROTOCOL", "the server answered subscriptions with one answer, not with events");
        }
        if (response.body === null)
            return;
        opened();
        const reader = response.body.getReader();
        const text = new TextDecoder();
        const parse = eventStream();
        for (;;) {
            const { done, value } = await reader.read();
            watch.heard();
            if (done || stopped.aborted)
                return;
            receive(parse(text.decode(value, { stream: true })));
        }
    };
    try {
        await Promise.race([read(), aborted]);
    }
    catch (error) {
        // A stream that was aborted fails in words of its own.
        if (signal.aborted)
            throw signal.reason;
        throw error instanceof SyntaxError ? new AdalogError("PROTOCOL", `an event is no JSON: ${error.message}`) : error;
    }
    finally {
        stopListening();
        watch.stop();
    }
}
