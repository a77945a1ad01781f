/** An error as the server says it, with its code. */

import { AdalogError } from "@adalog/client";
import { html } from "./html.js";

export function Failure({ error }: { error: unknown }) {
  if (error === undefined || error === null) return null;
  const known = error instanceof AdalogError ? error : undefined;
  const at = known?.line === undefined ? "" : `line ${known.line}, column ${known.column}: `;
  return html`<p class="error" role="alert">
    ${known && html`<strong>${known.code}</strong> `}${at}${error instanceof Error ? error.message : String(error)}
  </p>`;
}
