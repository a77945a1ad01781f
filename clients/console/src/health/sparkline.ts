/** A small chart of the last five minutes, the newest at the right. */

import { html } from "../parts/html.js";

const WIDTH = 150;
const HEIGHT = 28;
const SECONDS = 300;

export interface Point {
  /** In seconds since 1970. */
  readonly time: number;
  readonly value: number;
}

export function Sparkline({ points, now, label }: { points: readonly Point[]; now: number; label: string }) {
  const values = points.map(({ value }) => value);
  const most = Math.max(...values, 0);
  const least = Math.min(...values, most);
  const x = (time: number) => (WIDTH - ((now - time) / SECONDS) * WIDTH).toFixed(1);
  // A figure that does not change is a line through the middle.
  const y = (value: number) => (most === least ? HEIGHT / 2 : HEIGHT - 2 - ((value - least) / (most - least)) * (HEIGHT - 4)).toFixed(1);
  const line = points.map(({ time, value }) => `${x(time)},${y(value)}`).join(" ");
  const [first, last] = [points[0], points.at(-1)];
  return html`
    <svg class="sparkline" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${label || "no past yet"}>
      <line class="sparkline-ground" x1="0" x2=${WIDTH} y1=${HEIGHT - 1} y2=${HEIGHT - 1} vector-effect="non-scaling-stroke" />
      ${first && last && html`<polygon class="sparkline-area" points=${`${x(first.time)},${HEIGHT - 1} ${line} ${x(last.time)},${HEIGHT - 1}`} />`}
      <polyline points=${line} fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke" />
    </svg>
  `;
}
