/** What a row offers, and the answer for rows that are missing. What it shows is loaded then. */

import { later } from "../parts/later.js";
import { openAside } from "../parts/side.js";
import type { Answer, Row } from "../server/answers.js";

const Why = later(async () => (await import("./why.js")).Why);
const WhyNot = later(async () => (await import("./why-not.js")).WhyNot);

export function openWhy(answer: Answer, row: Row): void {
  openAside("Why this row", Why, { answer, row });
}

export function openWhyNot(answer: Answer): void {
  openAside("Why not…", WhyNot, { answer });
}
