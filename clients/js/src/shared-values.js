/** Values that several components share: made for the first component, closed a while after the last one. */
/** Values by the key of their query. Rendering looks a value up; only an effect makes one. */
export class SharedValues {
    #entries = new Map();
    get(id) {
        return this.#entries.get(id)?.value;
    }
    subscribe(id, make, lingerMs, listener) {
        const entry = this.#entries.get(id) ?? { value: make(), users: 0, closing: undefined };
        this.#entries.set(id, entry);
        entry.users += 1;
        clearTimeout(entry.closing);
        const stop = entry.value.subscribe(listener);
        return () => {
            stop();
            entry.users -= 1;
            if (entry.users > 0)
                return;
            entry.closing = setTimeout(() => {
                if (this.#entries.get(id) === entry)
                    this.#entries.delete(id);
                entry.value.close();
            }, lingerMs);
        };
    }
}
