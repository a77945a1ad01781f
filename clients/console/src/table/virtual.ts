/** Which rows are in sight, so that only these are in the page. */

import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import { useEffect, useReducer, useRef } from "preact/hooks";

export const ROW_PX = 30;

/** `headPx`: what stands above the rows, and stays in sight. */
export function useVirtualizer(scroller: { readonly current: HTMLDivElement | null }, count: number, headPx: number) {
  const [, update] = useReducer((n: number) => n + 1, 0);
  const instance = useRef<Virtualizer<HTMLDivElement, HTMLDivElement>>(undefined);
  const options = {
    count,
    estimateSize: () => ROW_PX,
    overscan: 8,
    scrollPaddingStart: headPx,
    getScrollElement: () => scroller.current,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => {
      keepFocus(scroller.current, virtualizer.getVirtualItems());
      update(undefined as never);
    },
  };
  instance.current ??= new Virtualizer(options);
  const virtualizer = instance.current;
  virtualizer.setOptions(options);
  useEffect(() => virtualizer._didMount(), []);
  useEffect(() => virtualizer._willUpdate());
  return virtualizer;
}

/** A button whose row leaves gives the focus to the table, not to another row's button. */
function keepFocus(box: HTMLDivElement | null, inSight: readonly { readonly index: number }[]): void {
  const row = box?.contains(document.activeElement) ? document.activeElement?.closest<HTMLElement>("[data-row]")?.dataset["row"] : undefined;
  if (row !== undefined && !inSight.some(({ index }) => index === Number(row))) box?.focus({ preventScroll: true });
}
