/** The queries that wait or run, with their end: for admins. */

import { useEffect, useState } from "preact/hooks";
import { Failure } from "../parts/failure.js";
import { useKeptFocus } from "../parts/focus.js";
import { html } from "../parts/html.js";
import { ask } from "../server/client.js";

interface RunningQuery {
  readonly id: string;
  readonly text: string;
  readonly principal: string;
  readonly elapsedMs: number;
  readonly waitedMs: number;
  readonly lane: string;
  readonly isRunning: boolean;
}

const LIST = "{ runningQueries { id text principal elapsedMs waitedMs lane isRunning } }";
const CANCEL = "mutation ($id: ID!) { cancelQuery(id: $id) }";
const EVERY_MS = 1_000;

export function Running() {
  const [queries, setQueries] = useState<readonly RunningQuery[]>([]);
  const [error, setError] = useState<unknown>();
  const [said, setSaid] = useState("");
  const section = useKeptFocus<HTMLElement>();
  useEffect(() => {
    const stop = new AbortController();
    const look = async () => {
      while (!stop.signal.aborted) {
        try {
          setQueries((await ask<{ runningQueries: RunningQuery[] }>(LIST, {}, stop.signal)).runningQueries);
          setError(undefined);
        } catch (failure) {
          if (!stop.signal.aborted) setError(failure);
        }
        await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
      }
    };
    void look();
    return () => stop.abort();
  }, []);
  const cancel = async ({ id }: RunningQuery) => {
    try {
      const { cancelQuery } = await ask<{ cancelQuery: boolean }>(CANCEL, { id });
      setSaid(cancelQuery ? "The query was cancelled." : "The query had ended.");
      setQueries((before) => before.filter((each) => each.id !== id));
    } catch (failure) {
      setError(failure);
    }
  };
  return html`
    <section ref=${section} tabindex="-1" aria-label="Running queries">
      <h2>Running queries</h2>
      <${Failure} error=${error} />
      <p class="hidden" role="status">${said}</p>
      ${queries.length === 0
        ? html`<p class="note">No query waits or runs.</p>`
        : html`<ul class="running">
            ${queries.map(
              (each) => html`<li key=${each.id}>
                <pre tabindex="0" aria-label="Query">${each.text}</pre>
                <span>
                  ${each.isRunning ? "runs" : "waits"}, ${(each.elapsedMs / 1000).toFixed(1)} s, of which ${(each.waitedMs / 1000).toFixed(1)} s waiting;
                  ${each.lane.toLowerCase()} lane; asked by ${each.principal}
                </span>
                <button type="button" onClick=${() => void cancel(each)}>Cancel</button>
              </li>`,
            )}
          </ul>`}
    </section>
  `;
}
