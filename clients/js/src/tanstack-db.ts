/** A live query as a collection of `@tanstack/db`: each change of the server is one transaction of the collection's sync. */

import type { CollectionConfig } from "@tanstack/db";

import type { Argument } from "./arguments.js";
import type { Client, TransactOptions, TxReport } from "./client.js";
import type { Edn } from "./edn.js";
import type { LiveChange, LiveOptions, LiveQuery } from "./live.js";
import { canonical } from "./rows.js";
import type { Column, Json } from "./wire.js";

export interface LiveCollectionConfig<Item extends object, Key extends string | number>
  extends Pick<LiveOptions<Json[]>, "argsEdn" | "encoding" | "fromT"> {
  readonly client: Client;
  readonly query: string;
  readonly args?: readonly Argument[];
  readonly id?: string;
  /** An item's key, which no two rows may share; by default all of its values. */
  readonly getKey?: (item: Item) => Key;
  /** The item that a row is; by default its columns by name, without their question marks. */
  readonly item?: (row: Json[], columns: readonly Column[]) => Item;
}

export interface LiveCollectionUtils {
  /** The live query behind the collection while it syncs, with its `basisT`, `status` and `error`. */
  readonly live: () => LiveQuery<Json[]> | undefined;
  /**
   * Transacts, and returns the report when the collection has the transaction's rows: for `onInsert` and the other handlers,
   * which show an item's change for as long as they run.
   */
  readonly transact: (tx: string | Edn, options?: TransactOptions) => Promise<TxReport>;
  readonly [name: string]: (...args: never[]) => unknown;
}

/**
 * The options of a collection that a live query keeps up to date; hand them to `createCollection`, with handlers
 * (`onInsert`, …) beside them where the collection is to be written to.
 */
export function liveCollectionOptions<
  Item extends object = Record<string, Json>,
  Key extends string | number = string | number,
>(
  config: LiveCollectionConfig<Item, Key>,
): Pick<CollectionConfig<Item, Key, never, LiveCollectionUtils>, "getKey" | "sync" | "utils"> & { id?: string; utils: LiveCollectionUtils } {
  const { client, query, args = [], argsEdn, encoding, fromT } = config;
  const toItem = config.item ?? (named as (row: Json[], columns: readonly Column[]) => Item);
  const getKey = config.getKey ?? ((item: Item) => canonical(item) as Key);
  let current: LiveQuery<Json[]> | undefined;

  return {
    ...(config.id === undefined ? {} : { id: config.id }),
    getKey,
    utils: {
      live: () => current,
      async transact(tx, options) {
        const report = await client.transact(tx, options);
        // Where the collection follows no more, the transaction is applied nevertheless.
        await current?.reached(report.t).catch(() => {});
        return report;
      },
    },
    sync: {
      rowUpdateMode: "full",
      sync({ begin, write, commit, markReady, markError }) {
        let isReady = false;

        const apply = ({ added, retracted, columns }: LiveChange<Json[]>) => {
          const leaving = new Map(retracted.map((row) => toItem(row, columns)).map((item) => [getKey(item), item]));
          begin();
          for (const row of added) {
            const value = toItem(row, columns);
            // A row that takes another's place.
            write({ type: leaving.delete(getKey(value)) ? "update" : "insert", value });
          }
          for (const value of leaving.values()) write({ type: "delete", value });
          commit();
        };

        const live = client.live<Json[]>(query, args, {
          ...(argsEdn === undefined ? {} : { argsEdn }),
          ...(encoding === undefined ? {} : { encoding }),
          ...(fromT === undefined ? {} : { fromT }),
          key: (row, columns) => getKey(toItem(row, columns)),
          onChange: apply,
          onState({ status, error }) {
            if (status === "live" && !isReady) {
              isReady = true;
              markReady();
            } else if (status === "failed" && !isReady) {
              markError(error);
            }
          },
        });
        current = live;
        return () => {
          live.close();
          if (current === live) current = undefined;
        };
      },
    },
  };
}

function named(row: Json[], columns: readonly Column[]): Record<string, Json> {
  return Object.fromEntries(columns.map(({ name }, i) => [name.replace(/^\?/, ""), row[i] ?? null]));
}
