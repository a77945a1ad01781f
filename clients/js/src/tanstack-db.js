/** A live query as a collection of `@tanstack/db`: each change of the server is one transaction of the collection's sync. */
import { canonical } from "./rows.js";
/**
 * The options of a collection that a live query keeps up to date; hand them to `createCollection`, with handlers
 * (`onInsert`, …) beside them where the collection is to be written to.
 */
export function liveCollectionOptions(config) {
    const { client, query, args = [], argsEdn, encoding, fromT } = config;
    const toItem = config.item ?? named;
    const getKey = config.getKey ?? ((item) => canonical(item));
    let current;
    return {
        ...(config.id === undefined ? {} : { id: config.id }),
        getKey,
        utils: {
            live: () => current,
            async transact(tx, options) {
                const report = await client.transact(tx, options);
                // Where the collection follows no more, the transaction is applied nevertheless.
                await current?.reached(report.t).catch(() => { });
                return report;
            },
        },
        sync: {
            rowUpdateMode: "full",
            sync({ begin, write, commit, markReady, markError }) {
                let isReady = false;
                const apply = ({ added, retracted, columns }) => {
                    const leaving = new Map(retracted.map((row) => toItem(row, columns)).map((item) => [getKey(item), item]));
                    begin();
                    for (const row of added) {
                        const value = toItem(row, columns);
                        // A row that takes another's place.
                        write({ type: leaving.delete(getKey(value)) ? "update" : "insert", value });
                    }
                    for (const value of leaving.values())
                        write({ type: "delete", value });
                    commit();
                };
                const live = client.live(query, args, {
                    ...(argsEdn === undefined ? {} : { argsEdn }),
                    ...(encoding === undefined ? {} : { encoding }),
                    ...(fromT === undefined ? {} : { fromT }),
                    key: (row, columns) => getKey(toItem(row, columns)),
                    onChange: apply,
                    onState({ status, error }) {
                        if (status === "live" && !isReady) {
                            isReady = true;
                            markReady();
                        }
                        else if (status === "failed" && !isReady) {
                            markError(error);
                        }
                    },
                });
                current = live;
                return () => {
                    live.close();
                    if (current === live)
                        current = undefined;
                };
            },
        },
    };
}
function named(row, columns) {
    return Object.fromEntries(columns.map(({ name }, i) => [name.replace(/^\?/, ""), row[i] ?? null]));
}
