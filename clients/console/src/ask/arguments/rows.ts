/** A list, a tuple or a relation as a small table: a column for each variable, a row for each value or tuple. */

import { html, type Markup } from "../../parts/html.js";
import { ValueField } from "./controls.js";
import { itemsIn, NOTHING, vectorOf } from "./edn.js";
import type { Field } from "./fields.js";

export interface FieldProperties {
  readonly field: Field;
  /** EDN; may be empty. */
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly problem?: string | undefined;
}

type Rows = readonly (readonly string[])[];

export function RowsField({ field, text, onChange, problem }: FieldProperties): Markup {
  const { kind, places } = field;
  const rows = rowsOf(field, text);
  if (rows === undefined) {
    // A set, or a list that has other things than the table has columns.
    return html`<input class="mono" aria-label=${field.text} aria-describedby=${problem} value=${text} placeholder="EDN" onInput=${(event: Event) => onChange((event.target as HTMLInputElement).value)} />`;
  }
  const change = (now: Rows) => onChange(textOf(field, now));
  const set = (r: number, c: number) => (given: string) => change(rows.map((row, i) => (i === r ? row.map((old, j) => (j === c ? given : old)) : row)));
  const isMany = kind !== "tuple";
  return html`
    <table class="argument-rows">
      ${kind !== "list" && html`<thead><tr>${places.map(({ name, type }) => html`<th scope="col" title=${type ?? ""}>${name}</th>`)}${isMany && html`<td></td>`}</tr></thead>`}
      <tbody>
        ${rows.map(
          (row, r) => html`<tr key=${r}>
            ${places.map(
              ({ name, type }, c) =>
                html`<td><${ValueField} label=${isMany ? `${name}, row ${r + 1}` : name} type=${type} text=${row[c] ?? ""} onChange=${set(r, c)} problem=${problem} /></td>`,
            )}
            ${isMany &&
            html`<td><button type="button" class="quiet small" aria-label=${`Remove row ${r + 1}`} disabled=${rows.length === 1} onClick=${() => change(rows.filter((_, i) => i !== r))}>✕</button></td>`}
          </tr>`,
        )}
      </tbody>
    </table>
    ${isMany && html`<button type="button" class="quiet small" onClick=${() => change([...rows, places.map(() => NOTHING)])}>Add ${kind === "list" ? "a value" : "a row"}</button>`}
  `;
}

function rowsOf({ kind, places }: Field, text: string): Rows | undefined {
  const empty = places.map(() => NOTHING);
  if (text.trim() === "") return [empty];
  const items = itemsIn(text);
  if (items === undefined) return undefined;
  if (kind === "tuple") return items.length <= places.length ? [[...items, ...empty].slice(0, places.length)] : undefined;
  if (kind === "list") return items.length === 0 ? [empty] : items.map((each) => [each]);
  const rows = items.map(itemsIn);
  if (!rows.every((row): row is readonly string[] => row?.length === places.length)) return undefined;
  return rows.length === 0 ? [empty] : rows;
}

function textOf({ kind }: Field, rows: Rows): string {
  if (rows.every((row) => row.every((each) => each.trim() === "" || each === NOTHING)) && rows.length === 1) return "";
  if (kind === "tuple") return vectorOf(rows[0] ?? []);
  return kind === "list" ? vectorOf(rows.map((row) => row[0] ?? "")) : vectorOf(rows.map(vectorOf));
}
