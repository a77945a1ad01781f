/** Keeps the keyboard focus in a section when its focused element is removed, as a row or a button that is needed once. */

import { useLayoutEffect, useRef } from "preact/hooks";

/** The ref of an element with tabindex -1. The element takes the focus when a render removes its focused descendant. */
export function useKeptFocus<Kept extends HTMLElement>(): { readonly current: Kept | null } {
  const element = useRef<Kept>(null);
  const had = element.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    if (had && !element.current?.contains(document.activeElement)) element.current?.focus({ preventScroll: true });
  });
  return element;
}
