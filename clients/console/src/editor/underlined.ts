/** What is underlined in the editor of the query, with a reason. Apart from the editor, which is loaded later. */

import { signal } from "@preact/signals";

export interface Underlined {
  /** The text that it is a part of: another text has nothing underlined. */
  readonly text: string;
  /** Where the form begins, from 1. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

export const underlined = signal<Underlined | undefined>(undefined);
