/** A table of which only the rows in sight are in the page, so that 100,000 rows scroll smoothly. */

import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { Column } from "@adalog/client";
import { useEffect, useReducer, useRef } from "preact/hooks";
import { html } from "../parts/html.js";
import { Value } from "../parts/value.js";
import type { Row } from "../server/answers.js";

const ROW_PX = 30;

/** Rows that came or went: since another moment, or just now. */
export type Mark = "added" | "retracted";

/** What a row offers, as "Why" and "History". */
export interface RowAction {
  readonly label: string;
  readonly run: (row: Row) => void;
}

export interface TableProperties {
  readonly label: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly marks?: ReadonlyMap<Row, Mark> | undefined;
  readonly actions?: readonly RowAction[];
}

export function Table({ columns, rows, label, marks, actions = [] }: TableProperties) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer(scroller, rows.length);
  const grid = { gridTemplateColumns: `4em repeat(${columns.length}, minmax(8em, 1fr))${actions.length > 0 ? " max-content" : ""}` };
  const items = virtualizer.getVirtualItems();
  return html`
    <div class="table" ref=${scroller} role="table" tabindex="0" aria-label=${label} aria-rowcount=${rows.length + 1}>
      <div class="table-row table-head" role="row" aria-rowindex="1" style=${grid}>
        <span role="columnheader" class="row-number">#</span>
        ${columns.map(({ name, type }) => html`<span role="columnheader" key=${name} title=${type}>${name}</span>`)}
        ${actions.length > 0 && html`<span role="columnheader"><span class="hidden">Actions</span></span>`}
      </div>
      <div role="rowgroup" class="table-body" style=${{ height: `${virtualizer.getTotalSize()}px` }}>
        ${items.map(({ index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          const style = { ...grid, transform: `translateY(${start}px)` };
          return html`
            <div key=${index} class=${`table-row ${marks?.get(row) ?? ""}`} role="row" aria-rowindex=${index + 2} style=${style}>
              <span role="rowheader" class="row-number">${index + 1}</span>
              ${columns.map(({ type }, i) => html`<span role="cell" key=${i}><${Value} value=${row[i]} type=${type} /></span>`)}
              ${actions.length > 0 &&
              html`<span role="cell" class="row-actions">${actions.map((each) => html`<button type="button" class="quiet small" onClick=${() => each.run(row)}>${each.label}</button>`)}</span>`}
            </div>
          `;
        })}
      </div>
    </div>
  `;
}

function useVirtualizer(scroller: { readonly current: HTMLDivElement | null }, count: number) {
  const [, update] = useReducer((n: number) => n + 1, 0);
  const instance = useRef<Virtualizer<HTMLDivElement, HTMLDivElement>>(undefined);
  const options = {
    count,
    estimateSize: () => ROW_PX,
    overscan: 12,
    getScrollElement: () => scroller.current,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => update(undefined as never),
  };
  instance.current ??= new Virtualizer(options);
  const virtualizer = instance.current;
  virtualizer.setOptions(options);
  useEffect(() => virtualizer._didMount(), []);
  useEffect(() => virtualizer._willUpdate());
  return virtualizer;
}
