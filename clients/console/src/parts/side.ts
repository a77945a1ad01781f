/** The panel at the side: an entity, why a row is there, the history of a row. It goes onward, and back. */

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { html } from "./html.js";

interface Shown {
  readonly title: string;
  readonly component: ComponentType<any>;
  readonly properties: Record<string, unknown>;
}

const opened = signal<readonly Shown[]>([]);

/** Shows a component in the panel, after what is there already. */
export function openAside<Properties extends object>(title: string, component: ComponentType<Properties>, properties: Properties): void {
  opened.value = [...opened.value, { title, component, properties: properties as Record<string, unknown> }];
}

export function closeAside(): void {
  opened.value = [];
}

function back(): void {
  opened.value = opened.value.slice(0, -1);
}

export function Side() {
  const heading = useRef<HTMLHeadingElement>(null);
  const before = useRef<HTMLElement | null>(null);
  const all = opened.value;
  const shown = all.at(-1);
  useEffect(() => {
    if (shown === undefined) {
      before.current?.focus();
      before.current = null;
      return;
    }
    before.current ??= document.activeElement as HTMLElement | null;
    heading.current?.focus();
  }, [shown]);
  if (shown === undefined) return null;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && !event.defaultPrevented) closeAside();
  };
  return html`
    <aside class="side" aria-label=${shown.title} onKeyDown=${onKeyDown}>
      <header class="row">
        ${all.length > 1 && html`<button type="button" class="quiet" onClick=${back}>← Back</button>`}
        <h2 ref=${heading} tabindex="-1">${shown.title}</h2>
        <button type="button" class="quiet" aria-label="Close the panel" onClick=${closeAside}>✕</button>
      </header>
      <div class="side-content"><${shown.component} key=${all.length} ...${shown.properties} /></div>
    </aside>
  `;
}
