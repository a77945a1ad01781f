/** How the answer is shown: by which view, and of which moment. */

import { signal } from "@preact/signals";

export type Mode = "newest" | "asOf" | "changes" | "live";

/** The name of the view that the reader has chosen. It stays chosen for the next answer. */
export const view = signal("table");

/** The newest moment, an earlier one, two that are compared, or the answer as it streams. */
export const mode = signal<Mode>("newest");
