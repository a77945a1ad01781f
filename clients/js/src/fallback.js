/** WebSockets, and event streams where no WebSocket can be opened. */
/** Failed attempts before event streams are tried, if WebSockets have worked before: the server may be starting. */
const MOST_FAILURES = 3;
/** Connects by `first`. If the server does not accept that connection, connects by `second`, and warns once. */
export function withFallback(first, second, warn) {
    let hasWorked = false;
    let hasWarned = false;
    let failures = 0;
    /** Whether `second` worked where `first` did not. */
    let prefersSecond = false;
    return (headers, listener, operation) => {
        const ids = new Set();
        const openSecond = () => {
            let isOpen = false;
            return second(headers, {
                ...listener,
                opened() {
                    isOpen = prefersSecond = true;
                    // Where WebSockets have worked, the server was probably starting.
                    if (!hasWarned && !hasWorked)
                        warn("no WebSocket can be opened to the server; live queries use event streams instead");
                    hasWarned = true;
                    listener.opened();
                },
                lost(error) {
                    prefersSecond &&= isOpen && !hasWorked;
                    listener.lost(error);
                },
            }, operation);
        };
        const openFirst = () => {
            let isOpen = false;
            return first(headers, {
                ...listener,
                opened() {
                    isOpen = hasWorked = true;
                    failures = 0;
                    listener.opened();
                },
                lost(error) {
                    if (!isOpen)
                        failures += 1;
                    if (isOpen || failures < (hasWorked ? MOST_FAILURES : 1)) {
                        listener.lost(error);
                        return;
                    }
                    link = openSecond();
                    for (const id of ids)
                        link.add(id);
                },
            }, operation);
        };
        let link = prefersSecond ? openSecond() : openFirst();
        return {
            add(id) {
                ids.add(id);
                link.add(id);
            },
            remove(id) {
                ids.delete(id);
                link.remove(id);
            },
            renew: (fresh) => link.renew((headers = fresh)),
            close: () => link.close(),
        };
    };
}
