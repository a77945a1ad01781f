/** An instant: readable, the exact one as its title; in local time or UTC, as the reader chooses once for all. */

import { effect, signal } from "@preact/signals";
import { html } from "./html.js";

const KEY = "adalog:utc";

export const isUtc = signal(localStorage.getItem(KEY) === "true");

effect(() => localStorage.setItem(KEY, String(isUtc.value)));

export function Time({ text }: { text: string }) {
  return html`<time datetime=${text} title=${text}>${readable(text, isUtc.value)}</time>`;
}

/** `2024-05-01 17:03:20.5`, without the zeros of its fraction; UTC has a Z. */
export function readable(text: string, utc: boolean): string {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return text;
  const shifted = utc ? date : new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  const [day = "", time = ""] = shifted.toISOString().slice(0, -1).split("T");
  const short = time.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
  return `${day} ${short}${utc ? "Z" : ""}`;
}

export function ZoneButton() {
  return html`<button type="button" class="quiet small" aria-pressed=${isUtc.value} onClick=${() => (isUtc.value = !isUtc.value)}>UTC</button>`;
}
