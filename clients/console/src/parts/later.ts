/** Components whose script is loaded when they are first shown. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { html } from "./html.js";

export function later<Properties extends object>(load: () => Promise<ComponentType<Properties>>): ComponentType<Properties> {
  let loaded: ComponentType<Properties> | undefined;
  return function Later(properties: Properties) {
    const [, setReady] = useState(loaded !== undefined);
    const [error, setError] = useState<unknown>();
    useEffect(() => {
      if (loaded !== undefined) return;
      load().then((component) => {
        loaded = component;
        setReady(true);
      }, setError);
    }, []);
    if (error !== undefined) return html`<p class="error" role="alert">This part cannot be loaded: ${String(error)}. Load the console again.</p>`;
    return loaded === undefined ? html`<p class="note" role="status">Loading…</p>` : html`<${loaded} ...${properties} />`;
  };
}
