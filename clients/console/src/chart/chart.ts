/** A chart of an answer: numbers by times, by numbers or by categories. The table has the same values for those who cannot see it. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { html } from "../parts/html.js";
import type { Answer } from "../server/answers.js";
import { theme } from "../shell/theme.js";
import { axesOf, chartData, type ChartData } from "./columns.js";

const COLOURS = ["--accent", "--code-function", "--good", "--code-number", "--bad", "--warn", "--code-string", "--quiet", "--code-variable", "--code-keyword"];
const LEAST_PX = 220;
const POINTS = 400;

export function Chart({ answer }: { answer: Answer }) {
  const axes = useMemo(() => axesOf(answer), [answer.columns]);
  const [chosen, choose] = useState<{ readonly x?: number; readonly y?: number; readonly series?: number }>({});
  const x = chosen.x !== undefined && axes.x.includes(chosen.x) ? chosen.x : (axes.x.find((place) => axes.y.some((other) => other !== place)) ?? 0);
  const y = chosen.y !== undefined && axes.y.includes(chosen.y) ? chosen.y : (axes.y.find((place) => place !== x) ?? 0);
  const series = chosen.series !== undefined && axes.series.includes(chosen.series) && chosen.series !== x ? chosen.series : undefined;
  const data = useMemo(() => chartData(answer, x, y, series), [answer, x, y, series]);
  const host = useRef<HTMLDivElement>(null);
  const names = { x: answer.columns[x]?.name ?? "", y: answer.columns[y]?.name ?? "" };
  const isTime = answer.columns[x]?.type === "instant";
  useEffect(() => {
    const element = host.current;
    if (!element) return undefined;
    const size = () => ({ width: Math.max(element.clientWidth, LEAST_PX), height: Math.max(element.clientHeight - 40, LEAST_PX) });
    const chart = new uPlot({ ...optionsOf(data, names, isTime, element), ...size() }, data.aligned as uPlot.AlignedData, element);
    const observer = new ResizeObserver(() => chart.setSize(size()));
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [data, theme.value]);
  const select = (label: string, places: readonly number[], value: number | undefined, change: (place: number | undefined) => void, none?: string) => html`
    <label>
      ${label}
      <select value=${value ?? ""} onChange=${(event: Event) => change(toPlace((event.target as HTMLSelectElement).value))}>
        ${none && html`<option value="">${none}</option>`}
        ${places.map((place) => html`<option key=${place} value=${place} selected=${place === value}>${answer.columns[place]?.name}</option>`)}
      </select>
    </label>
  `;
  return html`
    <div class="chart">
      <div class="row">
        ${select("X", axes.x, x, (place) => choose({ ...chosen, ...(place === undefined ? {} : { x: place }) }))}
        ${select("Y", axes.y, y, (place) => choose({ ...chosen, ...(place === undefined ? {} : { y: place }) }))}
        ${axes.series.some((place) => place !== x) &&
        select(
          "Series",
          axes.series.filter((place) => place !== x),
          series,
          (place) => choose({ x, y, ...(place === undefined ? {} : { series: place }) }),
          "none",
        )}
      </div>
      <div class="chart-host" ref=${host} role="img" aria-label=${summary(data, names)}></div>
      ${data.notes.length > 0 && html`<p class="note">Shown: ${data.notes.join("; ")}.</p>`}
    </div>
  `;
}

function toPlace(text: string): number | undefined {
  return text === "" ? undefined : Number(text);
}

/** What the chart shows, in words. */
function summary({ aligned, names, categories }: ChartData, axes: { readonly x: string; readonly y: string }): string {
  const values = aligned.slice(1).flat().filter((value) => value !== null);
  const low = values.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY);
  const high = values.reduce((one, other) => Math.max(one, other), Number.NEGATIVE_INFINITY);
  const kind = categories ? "Bar chart" : "Line chart";
  const of = names.length > 1 ? `, ${names.length} series` : "";
  return `${kind} of ${axes.y} by ${axes.x}${of}: ${values.length.toLocaleString()} points from ${low.toLocaleString()} to ${high.toLocaleString()}. The table has their values.`;
}

function optionsOf({ aligned, names, categories }: ChartData, axes: { x: string; y: string }, isTime: boolean, element: HTMLElement): Omit<uPlot.Options, "width" | "height"> {
  const colour = resolver(element);
  const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
  const isMany = (aligned[0]?.length ?? 0) > POINTS;
  const bars = uPlot.paths.bars?.({ size: [0.7, 60] });
  return {
    scales: {
      x: { time: isTime, ...(categories ? { range: (_, low, high) => [low - 0.6, high + 0.6] } : {}) },
      // Bars begin at zero: their lengths are compared.
      ...(categories ? { y: { range: (_, low, high) => uPlot.rangeNum(Math.min(0, low), Math.max(0, high), 0.1, true) } } : {}),
    },
    axes: [
      {
        ...axis,
        label: axes.x,
        ...(categories
          ? { values: (_: uPlot, at: number[]) => at.map((each) => (Number.isInteger(each) ? short(categories[each] ?? "") : "")), rotate: -35, size: 80, incrs: [1, 2, 5, 10, 20, 50] }
          : {}),
      },
      { ...axis, label: axes.y, size: 70, values: (_: uPlot, at: number[]) => at.map((each) => compact.format(each)) },
    ],
    series: [
      { label: axes.x, ...(categories ? { value: (_: uPlot, at: number | null) => (at === null ? "" : (categories[at] ?? "")) } : {}) },
      ...names.map((label, i): uPlot.Series => {
        const stroke = colour(COLOURS[i % COLOURS.length] ?? "--accent");
        return { label, stroke, width: 1.5, spanGaps: true, points: { show: !isMany && !categories }, ...(categories && bars ? { paths: bars, fill: stroke } : {}) };
      }),
    ],
  };
}

const compact = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 2 });

function short(text: string): string {
  return text.length > 14 ? `${text.slice(0, 13)}…` : text;
}

/** The colour that a variable of the style sheet has here and now: a canvas knows no variables. */
function resolver(element: HTMLElement): (name: string) => string {
  return (name) => {
    element.style.color = `var(${name})`;
    const found = getComputedStyle(element).color;
    element.style.color = "";
    return found;
  };
}
