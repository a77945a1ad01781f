/** A subscription that is started again after retryable errors and ends with the first one that is not retryable. */
import { delay, later } from "./backoff.js";
/** After a connection that lasted this long, the back-off starts from its first wait again. */
const GOOD_MS = 10_000;
export class Connection {
    #transport;
    #backoff;
    #subscriber;
    #disconnect;
    #stopWaiting;
    #openedAt = Number.POSITIVE_INFINITY;
    #attempt = 0;
    constructor(transport, backoff, subscriber) {
        this.#transport = transport;
        this.#backoff = backoff;
        this.#subscriber = subscriber;
    }
    get isOpen() {
        return this.#disconnect !== undefined;
    }
    /** Connects, unless it is connected or waits for the next attempt. */
    open() {
        if (this.#disconnect !== undefined || this.#stopWaiting !== undefined)
            return;
        let current = true;
        const ifCurrent = (act) => {
            if (current)
                act();
        };
        this.#openedAt = Number.POSITIVE_INFINITY;
        // Assigned before the transport starts, which may call back at once.
        let stop;
        this.#disconnect = () => {
            current = false;
            stop?.();
        };
        stop = this.#transport(() => this.#subscriber.operation(), {
            open: () => ifCurrent(() => {
                this.#openedAt = Date.now();
                this.#subscriber.opened();
            }),
            interrupted: (error) => ifCurrent(() => this.#subscriber.interrupted(error)),
            next: (answers) => ifCurrent(() => this.#subscriber.received(answers)),
            end: (error) => ifCurrent(() => this.lost(error)),
        });
        if (!current)
            stop();
    }
    /** Disconnects, until it is opened again. */
    close() {
        this.#stopWaiting?.();
        const disconnect = this.#disconnect;
        this.#disconnect = undefined;
        disconnect?.();
    }
    /**
     * Ends the connection in an error, or without one where the server said that it was complete, and makes another one
     * after a while, unless the error is final.
     */
    lost(error) {
        this.close();
        if (error !== undefined && !error.retryable) {
            this.#subscriber.failed(error);
            return;
        }
        if (Date.now() - this.#openedAt > GOOD_MS)
            this.#attempt = 0;
        this.#openAfter(delay(this.#backoff, this.#attempt, error?.retryAfter), error?.retryAfter === undefined);
        this.#attempt += 1;
        this.#subscriber.interrupted(error);
    }
    /** `early`: at once when the network or the tab comes back. */
    #openAfter(ms, early) {
        const stop = later(ms, early, () => {
            this.#stopWaiting = undefined;
            this.open();
        });
        this.#stopWaiting = () => {
            this.#stopWaiting = undefined;
            stop();
        };
    }
}
