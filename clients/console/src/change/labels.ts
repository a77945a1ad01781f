/** What names the entities of a change, also of those that it makes. */

import type { Long } from "@adalog/client";
import { useEffect, useState } from "preact/hooks";
import { labelsOf, type Labels } from "../entity/labels.js";
import type { Transaction } from "../server/transactions.js";

const MOST = 200;

/** The labels of entities; empty until they have come. transaction: applied first, and not committed. */
export function useLabels(ids: readonly Long[], transaction?: Transaction): Labels {
  const [labels, setLabels] = useState<Labels>(new Map());
  const key = JSON.stringify([ids, transaction]);
  useEffect(() => {
    const stop = new AbortController();
    const moment = transaction === undefined ? {} : { with: transaction.tx, withArgs: transaction.args };
    labelsOf(ids.slice(0, MOST), moment, stop.signal).then(
      (found) => !stop.signal.aborted && setLabels(found),
      () => undefined,
    );
    return () => stop.abort();
  }, [key]);
  return labels;
}
