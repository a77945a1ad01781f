/** When a transaction was made. */

import { useEffect, useState } from "preact/hooks";
import { html } from "../parts/html.js";
import { localField } from "./dates.js";
import { instantsOf } from "./transactions.js";

const SETTLED_MS = 60;

export function TransactionTime({ t }: { t: number }) {
  const [known, setKnown] = useState<{ readonly t: number; readonly at: string | undefined }>();
  useEffect(() => {
    const leaving = new AbortController();
    // Not for each that a slider passes.
    const timer = window.setTimeout(() => {
      instantsOf([t], leaving.signal).then(
        (instants) => leaving.signal.aborted || setKnown({ t, at: instants.get(t) }),
        () => undefined,
      );
    }, SETTLED_MS);
    return () => {
      window.clearTimeout(timer);
      leaving.abort();
    };
  }, [t]);
  const at = known?.t === t ? known.at : undefined;
  return html`<time class="transaction-time" datetime=${at} title=${at}>${at === undefined ? (t === 0 ? "before all transactions" : "…") : localField(new Date(at)).replace("T", " ")}</time>`;
}
