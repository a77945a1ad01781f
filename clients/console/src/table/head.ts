/** The heads of the columns: they sort, filter and are made wider. */

import type { Column } from "@adalog/client";
import { html } from "../parts/html.js";
import { isOrdered, type Filters } from "./filter.js";
import type { SortKey } from "./sort.js";
import { LEAST_PX } from "./widths.js";

export interface HeadProperties {
  readonly id: string;
  readonly columns: readonly Column[];
  readonly sort: readonly SortKey[];
  readonly widths: readonly number[];
  readonly hasActions: boolean;
  readonly isFiltering: boolean;
  readonly cursor: number | undefined;
  readonly onSort: (column: number, isAdded: boolean) => void;
  readonly onWidth: (column: number, px: number | undefined) => void;
  readonly onFiltering: () => void;
}

export function Head({ id, columns, sort, widths, hasActions, isFiltering, cursor, onSort, onWidth, onFiltering }: HeadProperties) {
  return html`
    <div class="table-row table-head" role="row" aria-rowindex="1">
      <span role="columnheader" class="row-number">
        <button type="button" class="quiet small" aria-pressed=${isFiltering} aria-label="Filter rows" title="Filter rows" onClick=${onFiltering}><${Funnel} /></button>
      </span>
      ${columns.map(({ name, type }, i) => {
        const place = sort.findIndex((each) => each.column === i);
        const key = sort[place];
        const direction = key === undefined ? "none" : key.isDescending ? "descending" : "ascending";
        return html`
          <span role="columnheader" key=${i} id=${`${id}--1-${i}`} data-column=${i} aria-label=${name} aria-sort=${direction} class=${cursor === i ? "cursor" : undefined}>
            <button
              type="button"
              class="head-name"
              tabindex="-1"
              title=${`${name} (${typeName(type)}). Click or Enter: sort; with Shift: sort by this column, too`}
              onClick=${(event: MouseEvent) => onSort(i, event.shiftKey)}
            >
              <span>${name}</span>
              ${key && html`<span aria-hidden="true" class="head-sort">${key.isDescending ? "▼" : "▲"}${sort.length > 1 ? place + 1 : ""}</span>`}
            </button>
            <${Handle} name=${name} width=${widths[i] ?? LEAST_PX} onWidth=${(px: number | undefined) => onWidth(i, px)} />
          </span>
        `;
      })}
      ${hasActions && html`<span role="columnheader" class="row-actions"><span class="hidden">Actions</span></span>`}
    </div>
  `;
}

function typeName(type: string): string {
  return type === "any" ? "values of several types" : type;
}

function Funnel() {
  return html`<svg viewBox="0 0 16 16" width="12" height="12" aria-hidden="true"><path fill="currentColor" d="M1 2h14l-5.4 6.6V14l-3.2-1.6V8.6z" /></svg>`;
}

/** The edge of a column's head, which is dragged. */
function Handle({ name, width, onWidth }: { name: string; width: number; onWidth: (px: number | undefined) => void }) {
  const onPointerDown = (event: PointerEvent) => {
    event.preventDefault();
    const handle = event.currentTarget as HTMLElement;
    const from = event.clientX;
    handle.setPointerCapture(event.pointerId);
    const onMove = ({ clientX }: PointerEvent) => onWidth(Math.max(LEAST_PX, width + clientX - from));
    handle.addEventListener("pointermove", onMove);
    handle.addEventListener("lostpointercapture", () => handle.removeEventListener("pointermove", onMove), { once: true });
  };
  return html`<span
    class="head-edge"
    role="separator"
    aria-orientation="vertical"
    aria-label=${`Width of ${name}`}
    title="Drag; double-click: as wide as its values; Alt-Left and Alt-Right"
    onPointerDown=${onPointerDown}
    onDblClick=${() => onWidth(undefined)}
  ></span>`;
}

export interface FilterRowProperties {
  readonly columns: readonly Column[];
  readonly filters: Filters;
  readonly hasActions: boolean;
  readonly onFilter: (column: number, text: string) => void;
}

/** A field for each column. */
export function FilterRow({ columns, filters, hasActions, onFilter }: FilterRowProperties) {
  return html`
    <div class="table-row table-filters" role="row">
      <span role="gridcell" class="row-number"></span>
      ${columns.map(
        ({ name, type }, i) => html`
          <span role="gridcell" key=${i}>
            <input
              type="search"
              aria-label=${`Filter ${name}`}
              placeholder=${isOrdered(type) ? "1..9, > 5" : "contains"}
              value=${filters.get(i) ?? ""}
              onInput=${(event: Event) => onFilter(i, (event.target as HTMLInputElement).value)}
            />
          </span>
        `,
      )}
      ${hasActions && html`<span role="gridcell" class="row-actions"></span>`}
    </div>
  `;
}
