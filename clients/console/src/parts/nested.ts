/** A map or list of a cell as a tree at the side. */

import type { Json } from "@adalog/client";
import { html } from "./html.js";
import { MomentContext, type Moment } from "./moment.js";
import { openAside } from "./side.js";
import { Value } from "./value.js";

export function openNested(value: Json, moment: Moment): void {
  openAside("Value", Tree, { value, moment });
}

function Tree({ value, moment }: { value: Json; moment: Moment }) {
  return html`<${MomentContext.Provider} value=${moment}><${Value} value=${value} type=${undefined} /><//>`;
}
