/** A value of a result, by its type: refs open the entity, idents are chips, times are readable. */

import type { Json } from "@adalog/client";
import { openEntity } from "../entity/entity.js";
import { html, type Markup } from "./html.js";

/** `type`: of the column, as results name it. */
export function Value({ value, type }: { value: Json | undefined; type: string | undefined }): Markup {
  if (value === null || value === undefined) return html`<span class="nil">nil</span>`;
  if (type === "ref" && (typeof value === "number" || typeof value === "string")) {
    return html`<button type="button" class="ref" onClick=${() => openEntity(value)}>${String(value)}</button>`;
  }
  if (type === "keyword") return html`<span class="chip">${String(value)}</span>`;
  return html`<span class=${typeof value === "number" ? "number" : undefined}>${textOf(value)}</span>`;
}

/** A value on one line, as tables and files show it. */
export function textOf(value: Json | undefined): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
