/** The moment and the identity that values were read with: an entity that is opened from them is read with the same. */

import { createContext } from "preact";
import type { Basis, Json } from "@adalog/client";
import type { Answer, As } from "../server/answers.js";

export interface Moment {
  readonly basis?: Basis | undefined;
  readonly as?: As | undefined;
  /** Transaction data that were tried, and are not committed. */
  readonly with?: string | undefined;
  /** Values for variables in them. */
  readonly withArgs?: Readonly<Record<string, Json>> | undefined;
}

export const MomentContext = createContext<Moment>({});

/** The moment of an answer. What was tried has no transaction of its own, so it is tried again at the question's. */
export function momentOf({ question, basisT }: Answer): Moment {
  const { basis, as, with: tried } = question;
  if (basis?.asOf !== undefined) return { basis: { asOf: basis.asOf }, as, with: tried };
  const t = tried ? basis?.t : basisT;
  return { basis: t === undefined ? undefined : { t }, as, with: tried };
}

/** A moment as variables of a document with `basis`, `as` and `with`. */
export function momentVariables({ basis, as, with: tried, withArgs }: Moment): Record<string, unknown> {
  return { ...(basis ? { basis } : {}), ...(as ? { as } : {}), ...(tried ? { with: tried } : {}), ...(tried && withArgs ? { withArgs } : {}) };
}
