/** Which rows are in sight, so that only these are in the page. */

import { elementScroll, observeElementOffset, observeElementRect, Virtualizer, type VirtualizerOptions } from "@tanstack/virtual-core";
import { useEffect, useReducer, useRef } from "preact/hooks";

export const ROW_PX = 30;
/** Rows above and below those in sight: the browser scrolls before the page is drawn again. */
const BEYOND = 8;

/** `headPx`: what stands above the rows, and stays in sight. */
export function useVirtualizer(scroller: { readonly current: HTMLDivElement | null }, count: number, headPx: number) {
  const [, update] = useReducer((n: number) => n + 1, 0);
  const instance = useRef<Virtualizer<HTMLDivElement, HTMLDivElement>>(undefined);
  const before = useRef<RowRange | null>(null);
  const isFar = useRef(false);
  const options: VirtualizerOptions<HTMLDivElement, HTMLDivElement> = {
    count,
    estimateSize: () => ROW_PX,
    overscan: isFar.current ? 0 : BEYOND,
    scrollPaddingStart: headPx,
    getScrollElement: () => scroller.current,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: ({ range, isScrolling }) => {
      // All rows are made anew: the rows beyond would double the frame, and the next step leaves them behind.
      isFar.current = isScrolling && isApart(before.current, range);
      before.current = range;
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

interface RowRange {
  readonly startIndex: number;
  readonly endIndex: number;
}

/** Whether two ranges have no row in common. */
function isApart(one: RowRange | null, other: RowRange | null): boolean {
  return one !== null && other !== null && (one.endIndex < other.startIndex || other.endIndex < one.startIndex);
}
