/** What each row of the answer offers. */

import type { RowAction } from "../table/table.js";
import { openWhy } from "../why/open.js";
import { answer } from "./state.js";

export const ROW_ACTIONS: readonly RowAction[] = [{ label: "Why", run: (row) => answer.value && openWhy(answer.value, row) }];
