/** Where in the query an error or a warning leads: the editor of the query puts its cursor there. */

import { signal } from "@preact/signals";

export interface Destination {
  /** Both from 1. */
  readonly line: number;
  readonly column: number;
}

export const destination = signal<Destination | undefined>(undefined);
