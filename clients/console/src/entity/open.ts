/** Opens an entity at the side. What it shows is loaded then. */

import { later } from "../parts/later.js";
import type { Moment } from "../parts/moment.js";
import { openAside } from "../parts/side.js";

const Entity = later(async () => (await import("./entity.js")).Entity);

export function openEntity(id: number | string, moment: Moment = {}): void {
  openAside(`Entity ${id}`, Entity, { id, moment });
}
