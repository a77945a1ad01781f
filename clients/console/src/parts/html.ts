/** Markup of components: htm's templates over preact. Text within them is text, never markup. */

import htm from "htm";
import { h, type VNode } from "preact";

export type Markup = VNode | null;

export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode;
