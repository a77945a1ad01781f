/** A grid of which only the rows in sight are in the page, so that 100,000 rows scroll smoothly. It sorts, filters, selects and copies. */

import type { Column } from "@adalog/client";
import { useContext, useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { tabSeparated } from "../files/text.js";
import { useKeptFocus } from "../parts/focus.js";
import { html } from "../parts/html.js";
import { MomentContext } from "../parts/moment.js";
import type { Row } from "../server/answers.js";
import { moved, type Cell } from "./cursor.js";
import { filtered, type Filters } from "./filter.js";
import { FilterRow, Head } from "./head.js";
import { TableRow } from "./row.js";
import { clicked, sorted, type SortKey } from "./sort.js";
import { ROW_PX, useVirtualizer } from "./virtual.js";
import { LEAST_PX, widthOf, widthsOf } from "./widths.js";

/** Rows that came or went: since another moment, or just now. */
export type Mark = "added" | "retracted";

/** What a row offers, as "Why" and "History". */
export interface RowAction {
  readonly label: string;
  /** In the label's place on a narrow page. */
  readonly short: string;
  readonly run: (row: Row) => void;
}

export interface TableProperties {
  readonly label: string;
  readonly columns: readonly Column[];
  /** A row that stays is the same array as before: it keeps its place in the page, and moves visibly. */
  readonly rows: readonly Row[];
  readonly marks?: ReadonlyMap<Row, Mark> | undefined;
  /** The same array as long as they are the same. */
  readonly actions?: readonly RowAction[];
}

const NO_ACTIONS: readonly RowAction[] = [];
const KEYBOARD_PX = 16;

export function Table({ columns, rows, label, marks, actions = NO_ACTIONS }: TableProperties) {
  const id = useId();
  const { as } = useContext(MomentContext);
  const scroller = useKeptFocus<HTMLDivElement>();
  const [sort, setSort] = useState<readonly SortKey[]>([]);
  const [isFiltering, setFiltering] = useState(false);
  const [filters, setFilters] = useState<Filters>(new Map());
  const [cursor, setCursor] = useState<Cell>({ row: 0, column: 0 });
  const [selected, setSelected] = useState<ReadonlySet<Row>>(new Set());
  const anchor = useRef(0);
  const names = columns.map(({ name, type }) => `${name} ${type}`).join("\n");
  const stable = useMemo(() => columns, [names]);
  const known = useRef(stable);
  const [resized, setResized] = useState<ReadonlyMap<number, number>>(new Map());
  const widest = useRef<readonly number[]>([]);
  // Another answer to the same question widens columns, and makes none narrower: they stay in place as rows come and go.
  const natural = useMemo(() => {
    const before = known.current === stable ? widest.current : [];
    known.current = stable;
    return (widest.current = widthsOf(stable, rows).map((px, i) => Math.max(px, before[i] ?? 0)));
  }, [stable, rows]);
  const widths = natural.map((px, i) => resized.get(i) ?? px);
  // Another question has other columns.
  useEffect(() => {
    setSort([]);
    setFilters(new Map());
    setResized(new Map());
    setCursor({ row: 0, column: 0 });
    setSelected(new Set());
  }, [names]);

  const types = useMemo(() => stable.map(({ type }) => type), [stable]);
  const kept = useMemo(() => (isFiltering ? filtered(rows, filters, types, as) : rows), [rows, filters, types, isFiltering, as]);
  const shown = useMemo(() => sorted(kept, sort, types), [kept, sort, types]);
  const headPx = ROW_PX * (isFiltering ? 2 : 1) + 2;
  const virtualizer = useVirtualizer(scroller, shown.length, headPx);

  const select = (next: ReadonlySet<Row>, from?: number) => {
    if (from !== undefined) anchor.current = from;
    setSelected(next);
  };
  const range = (one: number, other: number) => new Set(shown.slice(Math.min(one, other), Math.max(one, other) + 1));
  const toggle = (index: number) => {
    const next = new Set(selected);
    const row = shown[index];
    if (row && !next.delete(row)) next.add(row);
    select(next, index);
  };
  const onSort = (column: number, isAdded: boolean) => setSort((keys) => clicked(keys, column, isAdded));
  const onWidth = (column: number, px: number | undefined) => setResized((all) => new Map(all).set(column, px ?? widthOf(stable, shown, column)));

  const onKeyDown = (event: KeyboardEvent) => {
    if ((event.target as HTMLElement).tagName === "INPUT") return;
    const isHead = cursor.row === -1;
    if (event.altKey && (event.key === "ArrowLeft" || event.key === "ArrowRight") && cursor.column < columns.length) {
      const px = (widths[cursor.column] ?? LEAST_PX) + (event.key === "ArrowLeft" ? -KEYBOARD_PX : KEYBOARD_PX);
      onWidth(cursor.column, Math.max(LEAST_PX, px));
    } else if (event.target !== scroller.current) {
      // A button that has the focus has its own keys.
      return;
    } else if (event.key === "Enter") {
      if (isHead) onSort(cursor.column, event.shiftKey);
      else element()?.querySelector<HTMLElement>("button, a, summary")?.click();
      if (!isHead && cursor.column >= columns.length) element()?.click();
    } else if (event.key === " " && !isHead) {
      toggle(cursor.row);
    } else if (event.key === "a" && (event.ctrlKey || event.metaKey)) {
      select(new Set(shown));
    } else if (event.key === "Escape" && selected.size > 0) {
      select(new Set());
    } else {
      const to = moved(cursor, event, { rows: shown.length, columns: columns.length + actions.length, page: pageOf(scroller.current, headPx) });
      if (to === undefined) return;
      if (event.shiftKey && to.row >= 0) select(range(anchor.current, to.row));
      else anchor.current = to.row;
      moveTo(to);
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const element = () => document.getElementById(`${id}-${cursor.row}-${cursor.column}`);
  const moveTo = (to: Cell) => {
    setCursor(to);
    if (to.row >= 0) virtualizer.scrollToIndex(to.row, { align: "auto" });
    const box = scroller.current;
    const left = widths.slice(0, to.column).reduce((sum, px) => sum + px, 0);
    const right = left + (widths[to.column] ?? 0);
    // The numbers of the rows stay in sight at the left.
    if (box && to.column < columns.length && left < box.scrollLeft) box.scrollLeft = left;
    if (box && right + NUMBER_PX > box.scrollLeft + box.clientWidth) box.scrollLeft = right + NUMBER_PX - box.clientWidth;
  };
  const onClick = (event: MouseEvent) => {
    const target = event.target as HTMLElement;
    const row = Number(target.closest<HTMLElement>("[data-row]")?.dataset["row"] ?? Number.NaN);
    if (Number.isNaN(row)) return;
    if (target.closest(".row-number")) {
      if (event.shiftKey) select(range(anchor.current, row));
      else toggle(row);
    }
    const column = Number(target.closest<HTMLElement>("[data-column]")?.dataset["column"] ?? cursor.column);
    setCursor({ row, column });
  };
  const onCopy = (event: ClipboardEvent) => {
    if ((event.target as HTMLElement).tagName === "INPUT" || !(window.getSelection()?.isCollapsed ?? true)) return;
    const chosen = shown.filter((row) => selected.has(row));
    const row = shown[cursor.row];
    const text =
      chosen.length > 0 ? tabSeparated(stable, chosen) : row ? tabSeparated([], [row.slice(cursor.column, cursor.column + 1)]) : stable[cursor.column]?.name;
    if (text === undefined) return;
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
  };

  const grid = `${NUMBER_PX}px ${widths.map((px) => `${px}px`).join(" ")} ${actions.length > 0 ? "minmax(max-content, 1fr)" : "minmax(0, 1fr)"}`;
  const isCut = isFiltering && shown.length < rows.length;
  return html`
    <div
      class="table"
      ref=${scroller}
      role="grid"
      tabindex="0"
      aria-label=${label}
      aria-rowcount=${shown.length + 1}
      aria-multiselectable="true"
      aria-activedescendant=${`${id}-${cursor.row}-${cursor.column}`}
      style=${{ "--columns": grid }}
      onKeyDown=${onKeyDown}
      onClick=${onClick}
      onCopy=${onCopy}
    >
      <div class="table-top" role="rowgroup">
        <${Head}
          id=${id}
          columns=${stable}
          sort=${sort}
          widths=${widths}
          hasActions=${actions.length > 0}
          isFiltering=${isFiltering}
          cursor=${cursor.row === -1 ? cursor.column : undefined}
          onSort=${onSort}
          onWidth=${onWidth}
          onFiltering=${() => setFiltering(!isFiltering)}
        />
        ${isFiltering &&
        html`<${FilterRow}
          columns=${stable}
          filters=${filters}
          hasActions=${actions.length > 0}
          onFilter=${(column: number, text: string) => setFilters(new Map(filters).set(column, text))}
        />`}
      </div>
      <div role="rowgroup" class="table-body" style=${{ height: `${virtualizer.getTotalSize()}px` }}>
        ${virtualizer.getVirtualItems().map(({ index, start }) => {
          const row = shown[index];
          return (
            row &&
            html`<${TableRow}
              key=${keyOf(row)}
              id=${id}
              row=${row}
              index=${index}
              start=${start}
              columns=${stable}
              mark=${marks?.get(row)}
              actions=${actions}
              isSelected=${selected.has(row)}
              cursor=${cursor.row === index ? cursor.column : undefined}
            />`
          );
        })}
      </div>
    </div>
    <p class=${isCut || selected.size > 0 ? "note" : "hidden"} role="status">
      ${isCut && `${shown.length.toLocaleString()} of ${rows.length.toLocaleString()} rows pass the filter. `}
      ${selected.size > 0 && `${selected.size.toLocaleString()} ${selected.size === 1 ? "row is" : "rows are"} selected; Ctrl-C copies.`}
    </p>
  `;
}

const NUMBER_PX = 64;

function pageOf(box: HTMLElement | null, headPx: number): number {
  return Math.max(1, Math.floor(((box?.clientHeight ?? 0) - headPx) / ROW_PX) - 1);
}

const keys = new WeakMap<Row, number>();
let last = 0;

/** A number for a row, as long as it lives. */
function keyOf(row: Row): number {
  let key = keys.get(row);
  if (key === undefined) keys.set(row, (key = last += 1));
  return key;
}
