/** A signal whose value this browser keeps, for this server. */

import { effect, signal, type Signal } from "@preact/signals";

/** `first`: the value where nothing is kept, or what is kept cannot be read. */
export function stored<Value>(key: string, first: Value): Signal<Value> {
  const kept = signal(read(key, first));
  effect(() => {
    const text = JSON.stringify(kept.value);
    try {
      localStorage.setItem(key, text);
    } catch {
      // There is no space left: it is kept until the page is closed.
    }
  });
  return kept;
}

function read<Value>(key: string, first: Value): Value {
  try {
    const text = localStorage.getItem(key);
    return text === null ? first : (JSON.parse(text) as Value);
  } catch {
    return first;
  }
}
