/** An entity by its address: `#/entity?id=…`, with a moment and an identity if they are not the newest and the caller's. */

import { useMemo } from "preact/hooks";
import { html } from "../parts/html.js";
import type { Moment } from "../parts/moment.js";
import { parsed, place } from "../shell/route.js";
import { Entity } from "./entity.js";

export function EntityPage() {
  const { parameters } = place.value;
  const id = parameters.get("id");
  const text = parameters.toString();
  const moment = useMemo<Moment>(() => ({ basis: parsed(parameters.get("basis")), as: parsed(parameters.get("as")) }), [text]);
  if (!id) return html`<p class="note">The address names no entity: <code>#/entity?id=17</code>, or <code>id=[:an/attribute "value"]</code>.</p>`;
  return html`<h1>Entity ${id}</h1><${Entity} key=${text} id=${id} moment=${moment} />`;
}
