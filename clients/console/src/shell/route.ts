/** The place in the console that the address names: `#/ask?query=…`. A link to it opens the same place. */

import { signal } from "@preact/signals";

export interface Place {
  readonly page: string;
  readonly parameters: URLSearchParams;
}

export const place = signal<Place>(placeOf(window.location.hash));

window.addEventListener("hashchange", () => {
  place.value = placeOf(window.location.hash);
});

function placeOf(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { page: path || "ask", parameters: new URLSearchParams(query) };
}

export function hashOf(page: string, parameters: Record<string, string | undefined> = {}): string {
  const given = Object.entries(parameters).filter((each): each is [string, string] => each[1] !== undefined && each[1] !== "");
  const query = new URLSearchParams(given).toString();
  return `#/${page}${query && `?${query}`}`;
}

/** Opens a place, as a link does. */
export function go(page: string, parameters?: Record<string, string | undefined>): void {
  window.location.hash = hashOf(page, parameters);
}

/** Changes the address to name what is shown already; a new entry in the browser's history only if asked for and if it differs. */
export function name(page: string, parameters?: Record<string, string | undefined>, { isNewEntry = false } = {}): void {
  const hash = hashOf(page, parameters);
  if (isNewEntry && hash !== window.location.hash) window.history.pushState(null, "", hash);
  else window.history.replaceState(null, "", hash);
  place.value = placeOf(hash);
}

/** A parameter that holds JSON; undefined without one, and for what is none. */
export function parsed<Type>(text: string | null): Type | undefined {
  try {
    return text === null ? undefined : (JSON.parse(text) as Type);
  } catch {
    return undefined;
  }
}
