/** The script of the SharedWorker: one connection for the live queries of all pages with the same settings and identity. */
import { isNewer } from "./credentials.js";
import { linksOf } from "./links.js";
import { Multiplexer } from "./multiplexer.js";
import { explained } from "./origins.js";
import { errorMessage } from "./shared-messages.js";
/** The pages that share a connection. Each of them renews its own token; the connection uses the newest one. */
class Group {
    pages = new Set();
    multiplexer;
    /** What waits for a page's token. */
    #waiting = new Set();
    constructor(settings) {
        const onWarning = (message) => this.pages.forEach((page) => page.say({ type: "warning", message }));
        const address = explained({ url: settings.url, fetch: (input, init) => fetch(input, init) }, onWarning);
        this.multiplexer = new Multiplexer(linksOf({ ...settings, onWarning }, address), this.#credentials(), settings.backoff);
    }
    #credentials() {
        return {
            headers: (stale) => this.#newest((headers) => stale === undefined || isNewer(headers, stale)),
            after: (refused, refusal) => {
                for (const page of this.pages)
                    page.refuse(refused, refusal);
                return this.#newest(() => true);
            },
        };
    }
    /** A page has a new token, or has come. */
    changed() {
        for (const look of [...this.#waiting])
            look();
    }
    /** The newest headers of a page that are suitable, once there are some. */
    #newest(isSuitable) {
        return new Promise((resolve) => {
            const look = () => {
                const all = [...this.pages].flatMap(({ headers }) => (headers !== undefined && isSuitable(headers) ? [headers] : []));
                if (all.length === 0)
                    return;
                this.#waiting.delete(look);
                resolve(all.reduce((best, each) => (isNewer(each, best) ? each : best)));
            };
            this.#waiting.add(look);
            look();
        });
    }
}
const groups = new Map();
class Page {
    /** Undefined after the server has refused them. */
    headers;
    #port;
    #stops = new Map();
    #group;
    constructor(port) {
        this.#port = port;
    }
    say(message) {
        this.#port.postMessage(message);
    }
    received(message) {
        switch (message.type) {
            case "join":
                this.#join(message);
                return;
            case "add":
                this.#add(message.id, message.operation);
                return;
            case "remove":
                this.#stops.get(message.id)?.();
                this.#stops.delete(message.id);
                return;
            case "renew":
                this.headers = message.headers;
                this.#group?.changed();
                return;
            case "wake":
                globalThis.dispatchEvent(new Event("online"));
                return;
        }
    }
    /** Tells the page that its token was refused, unless it is newer than the one that was. */
    refuse(refused, refusal) {
        if (this.headers === undefined || isNewer(this.headers, refused))
            return;
        this.headers = undefined;
        this.say({ type: "refused", error: errorMessage(refusal) });
    }
    #join({ settings, identity, headers, lock }) {
        const key = JSON.stringify([settings, identity]);
        const group = groups.get(key) ?? new Group(settings);
        groups.set(key, group);
        this.headers = headers;
        this.#group = group;
        group.pages.add(this);
        group.changed();
        // Granted when the page has left or crashed.
        void navigator.locks.request(lock, () => {
            for (const stop of this.#stops.values())
                stop();
            group.pages.delete(this);
            if (group.pages.size === 0)
                groups.delete(key);
            this.#port.close();
        });
        void ownLock.then((name) => this.say({ type: "welcome", lock: name }));
    }
    #add(id, operation) {
        const stop = this.#group?.multiplexer.transport(() => operation, {
            open: () => this.say({ type: "sent", id }),
            interrupted: (error) => this.say({ type: "interrupted", id, error: errorMessage(error) }),
            next: (answers) => this.say({ type: "next", id, answers }),
            end: (error) => {
                this.#stops.delete(id);
                this.say({ type: "end", id, error: errorMessage(error) });
            },
        });
        if (stop !== undefined)
            this.#stops.set(id, stop);
    }
}
/** Held as long as this worker runs. */
const ownLock = new Promise((resolve) => {
    const name = `adalog worker ${crypto.randomUUID()}`;
    void navigator.locks.request(name, () => {
        resolve(name);
        return new Promise(() => { });
    });
});
globalThis.addEventListener("connect", (event) => {
    const [port] = event.ports;
    if (port === undefined)
        return;
    const page = new Page(port);
    port.onmessage = ({ data }) => page.received(data);
});
