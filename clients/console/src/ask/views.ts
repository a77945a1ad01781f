/** The views that an answer has beside its table. Each is loaded when it is first opened. */

import type { ComponentType } from "preact";
import { invitesChart } from "../chart/columns.js";
import { invitesGraph } from "../graph/elements.js";
import { later } from "../parts/later.js";
import type { Answer } from "../server/answers.js";
import { Rows } from "./rows.js";

export interface View {
  readonly name: string;
  readonly title: string;
  /** Whether an answer invites it. */
  readonly isOffered: (answer: Answer) => boolean;
  readonly component: ComponentType<{ readonly answer: Answer }>;
}

export const VIEWS: readonly View[] = [
  { name: "table", title: "Table", isOffered: () => true, component: Rows },
  { name: "chart", title: "Chart", isOffered: invitesChart, component: later(async () => (await import("../chart/chart.js")).Chart) },
  { name: "graph", title: "Graph", isOffered: invitesGraph, component: later(async () => (await import("../graph/graph.js")).Graph) },
  { name: "plan", title: "Plan", isOffered: () => true, component: later(async () => (await import("../plan/plan.js")).Plan) },
];

export function offered(answer: Answer): readonly View[] {
  return VIEWS.filter(({ isOffered }) => isOffered(answer));
}
