/** A row of the table. It is made anew only when what it shows has changed. */

import type { Column } from "@adalog/client";
import { useMemo } from "preact/hooks";
import { html } from "../parts/html.js";
import { Value } from "../parts/value.js";
import type { Row } from "../server/answers.js";
import { isNumeric } from "./sort.js";
import type { Mark, RowAction } from "./table.js";

export interface RowProperties {
  readonly id: string;
  readonly row: Row;
  readonly index: number;
  readonly start: number;
  readonly columns: readonly Column[];
  readonly mark: Mark | undefined;
  readonly actions: readonly RowAction[];
  readonly isSelected: boolean;
  /** The column of the cursor, if it is in this row. */
  readonly cursor: number | undefined;
}

export function TableRow({ id, row, index, start, columns, mark, actions, isSelected, cursor }: RowProperties) {
  return useMemo(() => {
    const cell = (i: number) => ({ id: `${id}-${index}-${i}`, "data-column": i, class: `${isNumeric(columns[i]?.type) ? "right" : ""} ${cursor === i ? "cursor" : ""}` });
    return html`
      <div
        class=${`table-row ${mark ?? ""} ${cursor === undefined ? "" : "current"}`}
        role="row"
        aria-rowindex=${index + 2}
        aria-selected=${isSelected}
        data-row=${index}
        style=${{ transform: `translateY(${start}px)` }}
      >
        <span role="rowheader" class="row-number">${(index + 1).toLocaleString()}</span>
        ${columns.map(({ type }, i) => html`<span role="gridcell" key=${i} ...${cell(i)}><${Value} value=${row[i]} type=${type} inline /></span>`)}
        ${actions.length > 0 &&
        html`<span role="gridcell" class="row-actions">
          ${actions.map((each, i) => {
            const { class: cursorClass, ...place } = cell(columns.length + i);
            return html`<button type="button" key=${i} tabindex="-1" ...${place} data-short=${each.short} title=${each.label} class=${`quiet small ${cursorClass ?? ""}`} onClick=${() => each.run(row)}>${each.label}</button>`;
          })}
        </span>`}
      </div>
    `;
  }, [id, row, index, start, columns, mark, actions, isSelected, cursor]);
}
