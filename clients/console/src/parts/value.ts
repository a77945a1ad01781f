/** A value of a result, by its type: refs open the entity, idents are chips, times are readable, maps and lists open. */

import type { Json } from "@adalog/client";
import { useContext, useState } from "preact/hooks";
import { identOf } from "../entity/idents.js";
import { openEntity } from "../entity/open.js";
import { html, type Markup } from "./html.js";
import { MomentContext } from "./moment.js";
import { Time } from "./time.js";

export interface ValueProperties {
  readonly value: Json | undefined;
  /** Of the column, as results name it. */
  readonly type: string | undefined;
  /** On one line: nothing opens in place. */
  readonly inline?: boolean;
  /** What names the entity of a ref. */
  readonly label?: string | undefined;
}

const LONG = 280;

export function Value({ value, type, inline = false, label }: ValueProperties): Markup {
  if (value === null || value === undefined) return html`<span class="nil">nil</span>`;
  if (type === "ref" && (typeof value === "number" || typeof value === "string")) return html`<${Ref} id=${value} label=${label} inline=${inline} />`;
  if (typeof value === "object") return html`<${Nested} value=${value} inline=${inline} />`;
  if (typeof value === "boolean") return html`<span class=${`boolean ${value}`}>${value ? "✓ true" : "✗ false"}</span>`;
  if (typeof value === "number") return html`<span class="number">${value}</span>`;
  switch (type) {
    case "instant":
      return html`<${Time} text=${value} />`;
    case "keyword":
      return html`<span class="chip">${value}</span>`;
    case "long":
    case "bigint":
    case "bigdec":
    case "double":
    case "float":
      return html`<span class="number">${value}</span>`;
    case "uuid":
    case "symbol":
      return html`<code>${value}</code>`;
    case "bytes":
      return html`<code title="Bytes, as base64">${value}</code>`;
    case "uri":
      return /^https?:\/\//i.test(value)
        ? html`<a href=${value} target="_blank" rel="noopener noreferrer" tabindex=${inline ? -1 : undefined}>${value}</a>`
        : html`<code>${value}</code>`;
    default:
      return !inline && value.length > LONG ? html`<${LongText} text=${value} />` : html`<span class="text" title=${inline && value.length > 24 ? value : undefined}>${inline ? value.replaceAll(/\r\n?|\n/g, "⏎") : value}</span>`;
  }
}

function Ref({ id, label, inline }: { id: number | string; label: string | undefined; inline: boolean }) {
  const moment = useContext(MomentContext);
  const open = () => openEntity(id, moment);
  const ident = inline && label === undefined ? identOf(id, moment.as) : undefined;
  if (ident) return html`<span class="chip"><button type="button" class="ref" tabindex="-1" title=${`Open entity ${id}`} onClick=${open}>${ident}</button></span>`;
  return html`<button type="button" class="ref" tabindex=${inline ? -1 : undefined} title=${`Open entity ${id}`} onClick=${open}>${label ?? String(id)}</button>`;
}

/** A map of a pull, a list or a tuple. */
function Nested({ value, inline }: { value: Json[] | { [key: string]: Json }; inline: boolean }) {
  if (inline) return html`<${NestedLine} value=${value} />`;
  if (Array.isArray(value)) {
    return html`<ul class="tree">
      ${value.map((each, i) => html`<li key=${i}><${Value} value=${each} type=${undefined} /></li>`)}
    </ul>`;
  }
  return html`<ul class="tree">
    ${Object.entries(value).map(([key, each]) => html`<li key=${key}><${Branch} name=${key} value=${each} /></li>`)}
  </ul>`;
}

function Branch({ name, value }: { name: string; value: Json }) {
  if (name === ":db/id") return html`<code>${name}</code> <${Value} value=${value} type="ref" />`;
  if (typeof value !== "object" || value === null) return html`<code>${name}</code> <${Value} value=${value} type=${kindOf(value)} />`;
  return html`<details open>
    <summary><code>${name}</code> <span class="quiet-text">${Array.isArray(value) ? `${value.length} values` : ""}</span></summary>
    <${Value} value=${value} type=${undefined} />
  </details>`;
}

/** The type that a value within a map shows by itself. */
function kindOf(value: Json): string | undefined {
  if (typeof value !== "string") return undefined;
  if (/^:[^\s/]+\/[^\s]+$|^:[^\s]+$/.test(value)) return "keyword";
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value) ? "instant" : undefined;
}

/** A map on one line; it opens as a tree at the side. */
function NestedLine({ value }: { value: Json[] | { [key: string]: Json } }) {
  const moment = useContext(MomentContext);
  const open = () => void import("./nested.js").then(({ openNested }) => openNested(value, moment));
  return html`<button type="button" class="nested" tabindex="-1" title="Open as a tree" onClick=${open}>${textOf(value)}</button>`;
}

function LongText({ text }: { text: string }) {
  const [isOpen, setOpen] = useState(false);
  return html`<span class="text">${isOpen ? text : `${text.slice(0, LONG)}…`}</span>
    <button type="button" class="quiet small" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>${isOpen ? "Less" : `All ${text.length.toLocaleString()} characters`}</button>`;
}

/** A value on one line, as tables and files show it. */
export function textOf(value: Json | undefined): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
