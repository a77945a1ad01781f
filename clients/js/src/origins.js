/** Requests of pages of another origin: a browser does not tell a page whether the server is away or refuses the page's origin. */
import { absolute } from "./links.js";
/** The address, whose failed requests name the page's origin until the server has answered. `warn` is called for each of them. */
export function explained(address, warn) {
    let hasAnswered = false;
    return {
        ...address,
        answered() {
            hasAnswered = true;
        },
        async fetch(input, init) {
            try {
                const response = await address.fetch(input, init);
                hasAnswered = true;
                return response;
            }
            catch (error) {
                const hint = hasAnswered || init.signal?.aborted ? undefined : originHint(address.url);
                if (hint === undefined)
                    throw error;
                warn(`no answer from ${address.url}; ${hint}`);
                throw new TypeError(`${error instanceof Error ? error.message : String(error)}; ${hint}`, { cause: error });
            }
        },
    };
}
function originHint(url) {
    const origin = globalThis.location?.origin;
    if (origin === undefined || origin === new URL(absolute(url)).origin)
        return undefined;
    if (origin === "null")
        return "this page has no origin, as files and sandboxed frames, and is refused: a web server has to deliver it";
    return `if this page's origin ${origin} is not in the server's ADALOG_ALLOWED_ORIGINS, list it`;
}
