/** An error as the server says it, with its code. */

import { AdalogError } from "@adalog/client";
import { html } from "./html.js";

export function Failure({ error }: { error: unknown }) {
  if (error === undefined || error === null) return null;
  const known = error instanceof AdalogError ? error : undefined;
  const message = error instanceof Error ? error.message : String(error);
  // The message says the place itself where the text has a name, such as an argument's.
  const at = known?.line === undefined || message.includes(`line ${known.line}`) ? "" : `line ${known.line}, column ${known.column}: `;
  return html`<p class="error" role="alert">
    ${known && html`<strong>${known.code}</strong> `}${at}${message}
  </p>`;
}
