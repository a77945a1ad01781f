/** The newest transaction that a client has seen, which it hands to the server: no gateway then answers with an older database. */

import type { Transport } from "./transport.js";
import { isAfter, type Answer, type LiveEvent, type Long, type Operation } from "./wire.js";

export class SeenBasis {
  #t: Long | undefined;

  get t(): Long | undefined {
    return this.#t;
  }

  /** The operation with what has been seen. */
  onto<Asked extends Operation>(operation: Asked): Asked {
    return this.#t === undefined ? operation : { ...operation, extensions: { minBasisT: this.#t } };
  }

  /**
   * An answer is as of `t`. `least`: what was handed to the server with the question. An answer that is older nevertheless
   * is of another database, a restored one for example, and starts anew.
   */
  saw(t: Long, least?: Long): void {
    if (this.#t === undefined || isAfter(t, this.#t) || (least !== undefined && isAfter(least, t))) this.#t = t;
  }

  /** A transport whose subscriptions begin with what has been seen, and whose events are seen. */
  over(transport: Transport): Transport {
    return (operation, receiver) =>
      transport(() => this.onto(operation()), {
        ...receiver,
        next: (answers) => {
          for (const { data } of answers as readonly Answer<{ live?: LiveEvent; transactions?: { t: Long } }>[]) {
            const t = data?.live?.basisT ?? data?.transactions?.t;
            if (t !== undefined) this.saw(t);
          }
          receiver.next(answers);
        },
      });
  }
}
