/** What each row of the answer offers. */

import { later } from "../parts/later.js";
import { openAside } from "../parts/side.js";
import type { RowAction } from "../table/table.js";
import { openWhy } from "../why/open.js";
import { answer } from "./state.js";

const RowHistory = later(async () => (await import("../entity/row-history.js")).RowHistory);

export const ROW_ACTIONS: readonly RowAction[] = [
  { label: "Why", short: "?", run: (row) => answer.value && openWhy(answer.value, row) },
  { label: "History", short: "↺", run: (row) => answer.value && openAside("History of this row", RowHistory, { answer: answer.value, row }) },
];
