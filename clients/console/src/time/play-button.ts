/** Play, pause and stop of a replay. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ended, question } from "../ask/state.js";
import { Failure } from "../parts/failure.js";
import { html } from "../parts/html.js";
import { Replay } from "./replay.js";

const playing = signal<Replay | undefined>(undefined);

function stop(): void {
  playing.value?.close();
  playing.value = undefined;
}

export function PlayButton({ from, to }: { from: number; to: number }) {
  // Ends where the question is run, also by the slider.
  useEffect(() => stop, [ended.value]);
  const replay = playing.value;
  const start = () => {
    stop();
    // From the end there is nothing to play: it begins anew.
    playing.value = new Replay(question.peek(), from >= to ? 0 : from, to);
  };
  if (replay === undefined || replay.isOver.value) {
    return html`
      <button type="button" class="quiet" title="Through the transactions that change the answer" onClick=${start}>Play</button>
      ${replay !== undefined && html`<span class="note" role="status">${stepsText(replay)} changed the answer.</span>`}
      <${Failure} error=${replay?.error.value} />
    `;
  }
  return html`
    <button type="button" class="quiet" aria-pressed=${replay.isPaused.value} onClick=${() => replay.togglePause()}>Pause</button>
    <button type="button" class="quiet" onClick=${stop}>Stop</button>
    <span class="note">${stepsText(replay)}</span>
  `;
}

function stepsText({ steps }: Replay): string {
  return `${steps.value} ${steps.value === 1 ? "transaction" : "transactions"}`;
}
