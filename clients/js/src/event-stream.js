/** The text of `text/event-stream`, as it arrives in pieces: https://html.spec.whatwg.org/#event-stream-interpretation */
/** Takes the next piece of text and returns the events that it completes. */
export function eventStream() {
    let rest = "";
    // A carriage return at the end of a piece may be half of a line's end.
    let carriage = false;
    let begun = false;
    let name = "";
    let data = [];
    return (piece) => {
        if (piece === "")
            return [];
        const text = begun || !piece.startsWith("\uFEFF") ? piece : piece.slice(1);
        begun = true;
        if (!carriage && !/[\r\n]/.test(text)) {
            // A long line costs what it is long, in however many pieces it comes.
            rest += text;
            return [];
        }
        const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
        rest = lines.pop() ?? "";
        carriage = rest.endsWith("\r");
        const events = [];
        for (const line of lines) {
            if (line === "") {
                if (name !== "" || data.length > 0)
                    events.push({ name: name || "message", data: data.join("\n") });
                name = "";
                data = [];
                continue;
            }
            const colon = line.indexOf(":");
            const field = colon < 0 ? line : line.slice(0, colon);
            const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
            if (field === "event")
                name = value;
            else if (field === "data")
                data.push(value);
        }
        return events;
    };
}
