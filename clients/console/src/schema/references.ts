/** Which namespaces refer to which, as a graph, and as a list for keys and screen readers. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { openAside } from "../parts/side.js";
import { attributes } from "../server/database.js";
import { theme } from "../shell/theme.js";
import { AttributeDetails } from "./attribute.js";
import { references, type Reference } from "./sampling.js";

export function References() {
  const host = useRef<HTMLDivElement>(null);
  const [found, setFound] = useState<readonly Reference[]>();
  const [failure, setFailure] = useState<unknown>();
  const isKnown = attributes.value.length > 0;
  useEffect(() => {
    if (isKnown) references().then(setFound, setFailure);
  }, [isKnown]);
  const open = (ident: string) => openAside(ident, AttributeDetails, { ident });
  useEffect(() => {
    if (!found || found.length === 0) return undefined;
    const disposal = new AbortController();
    void import("../graph/drawing.js").then(({ draw }) => {
      if (disposal.signal.aborted || !host.current) return;
      const drawing = draw(host.current, () => undefined);
      const nodes = [...new Set(found.flatMap(({ from, to }) => [from, to]))];
      drawing.show({ nodes, edges: found, total: nodes.length }, (id) => id);
      disposal.signal.addEventListener("abort", () => drawing.remove());
    }, setFailure);
    return () => disposal.abort();
  }, [found, theme.value]);
  return html`
    <${Failure} error=${failure} />
    <p class="note" role="status">
      ${found === undefined ? (failure ? "" : "Reading a sample of each ref…") : found.length === 0 ? "No ref has a value." : `${found.length} references between namespaces, by a sample of the values of each ref.`}
    </p>
    ${found !== undefined &&
    found.length > 0 &&
    html`
      <div class="graph-host references" ref=${host} role="img" aria-label="Graph of the references between namespaces. The table below has the same ones."></div>
      <div class="changes" role="region" tabindex="0" aria-label="References">
        <table>
          <thead><tr><th scope="col">From</th><th scope="col">By</th><th scope="col">To</th></tr></thead>
          <tbody>
            ${found.map(({ from, to, label }) => html`<tr key=${`${label} ${to}`}><td>${from}</td><td><button type="button" class="ref" onClick=${() => open(label)}>${label}</button></td><td>${to}</td></tr>`)}
          </tbody>
        </table>
      </div>
    `}
  `;
}
