/** A small chart of the last values, from left to right. */

import { html } from "../parts/html.js";

const WIDTH = 150;
const HEIGHT = 28;
/** As many moments as five minutes have. */
const MOST = 150;

export function Sparkline({ values, label }: { values: readonly (number | undefined)[]; label: string }) {
  const known = values.filter((each): each is number => each !== undefined && Number.isFinite(each));
  const most = Math.max(...known, 0);
  const least = Math.min(...known, most);
  const height = (value: number) => HEIGHT - 2 - ((value - least) / (most - least || 1)) * (HEIGHT - 4);
  const points = values.flatMap((value, i) =>
    value === undefined || !Number.isFinite(value) ? [] : [`${WIDTH - (values.length - 1 - i) * (WIDTH / MOST)},${height(value).toFixed(1)}`],
  );
  return html`
    <svg class="sparkline" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${label || "no past yet"}>
      <polyline points=${points.join(" ")} fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke" />
    </svg>
  `;
}
