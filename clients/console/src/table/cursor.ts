/** The cell that keys act on. The heads of the columns are row -1; the buttons of a row are columns after the last. */

export interface Cell {
  readonly row: number;
  readonly column: number;
}

export interface Extent {
  readonly rows: number;
  readonly columns: number;
  /** How many rows a page has. */
  readonly page: number;
}

/** Where a key leads to; undefined for a key that moves nothing. */
export function moved({ row, column }: Cell, event: KeyboardEvent, { rows, columns, page }: Extent): Cell | undefined {
  const whole = event.ctrlKey || event.metaKey;
  const [toRow, toColumn] = destination();
  if (toRow === undefined || toColumn === undefined) return undefined;
  return { row: Math.max(-1, Math.min(rows - 1, toRow)), column: Math.max(0, Math.min(columns - 1, toColumn)) };

  function destination(): [number, number] | [] {
    switch (event.key) {
      case "ArrowUp":
        return [whole ? 0 : row - 1, column];
      case "ArrowDown":
        return [whole ? rows - 1 : row + 1, column];
      case "ArrowLeft":
        return [row, column - 1];
      case "ArrowRight":
        return [row, column + 1];
      case "Home":
        return [whole ? 0 : row, 0];
      case "End":
        return [whole ? rows - 1 : row, columns - 1];
      case "PageUp":
        return [Math.max(0, row - page), column];
      case "PageDown":
        return [row + page, column];
      default:
        return [];
    }
  }
}
