"""The descriptions of the GraphQL surface, by schema coordinate, and how they get into the schema.

A coordinate is `Type`, `Type.field`, `Type.field(argument:)` or `Enum.VALUE`; `(argument:)` stands for that
argument of every field without a text of its own. Some types are enums of other packages, which know no GraphQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from graphql import GraphQLSchema, is_introspection_type, is_specified_scalar_type

TEXTS: Final = {
    # Reading
    "Query": "Reads: queries, pulls, raw datoms, the log, the schema.",
    "Query.q": "Runs an EDN Datalog query, e.g. `[:find ?name :where [?p :person/name ?name]]`.",
    "Query.explain": (
        "The plan of a query: the order of its variables, with estimates. With `analyze` the query also runs."
    ),
    "Query.explain(analyze:)": "Run the query and add the actual counts and times. The default is false.",
    "Query.why": (
        "Why a row is in the answer: a derivation with one witness for each clause. If it is not, the first clause "
        "that no row passes."
    ),
    "Query.why(row:)": (
        "The cells of the row, in the order of `:find`, as `q` shows them. Of a pull its `db/id`, or the entity."
    ),
    "Query.check": (
        "Whether a query can be run, for editors: the text is read and its names are resolved, no order is "
        "searched and no data is read. What is wrong is the error, with line and column; the value is what is "
        "probably not meant."
    ),
    "Query.check(argsEdn:)": (
        "Values for `:in` as EDN, as far as they are known: null for the others, and fewer than there are inputs. "
        "Without the rules for `%` only the syntax is checked."
    ),
    "Query.builtins": (
        "The functions and aggregates that queries may call, each with an example, in the order of the reference."
    ),
    "Builtin": "A function or an aggregate of the query language.",
    "Builtin.name": "The name that is called. A few names are both a function and an aggregate.",
    "Builtin.kind": "Where it may be called.",
    "Builtin.section": "The section of the reference, e.g. `Text`.",
    "Builtin.usage": "An example of a call.",
    "Builtin.value": "What the example gives, as EDN. Null if the example is refused.",
    "Builtin.doc": "What it does, with code between backticks. Empty where the example says it.",
    "BuiltinKind": "Where a built-in may be called.",
    "BuiltinKind.FUNCTION": "In clauses, as a predicate or a function, and in expressions.",
    "BuiltinKind.AGGREGATE": "In `:find`, `:having` and `:order-by`, and in heads of rules.",
    "Query.pull": "What the pattern shows of one entity. Null if it shows nothing or there is no such entity.",
    "Query.pull(eid:)": (
        "The entity: a number, an ident or a lookup ref, e.g. `17`, `:status/open`, `[:user/email "
        '"ada@example.org"]`.'
    ),
    "Query.pullMany": "`pull` of many entities in one pass. The answers are in the order of `eids`.",
    "Query.pullMany(eids:)": 'The entities: numbers, idents or lookup refs, e.g. `["17", ":status/open"]`.',
    "(pattern:)": (
        "The pull pattern, e.g. `[:user/name {:user/friends [:user/name]}]`. `[*]` shows every attribute."
    ),
    "Query.datoms": "Raw datoms of one index in its order.",
    "Query.datoms(index:)": "The order of the datoms, and what `components` mean.",
    "Query.datoms(components:)": (
        'Leading components in the order of the index, e.g. `[":user/email"]` with AVET. Without them the '
        "whole index."
    ),
    "Query.datoms(first:)": "Page size: at most so many datoms. The default is 1000.",
    "Query.transactions": "The transaction log, oldest first: from <= t < to.",
    "Query.transactions(from:)": (
        "The first transaction number. The default is the first transaction of the database."
    ),
    "Query.transactions(to:)": "The transaction number to stop before. The default is the end of the log.",
    "Query.transactions(first:)": "At most so many transactions. The default is 100.",
    "Query.attributes": "All attributes, built-in ones included, with their numbers of datoms.",
    "Query.database": "The newest transaction, and how much is in the database.",
    "Query.whyVisible": (
        "Why others see an entity, for admins: what is visible of it, and for each policy that is on one of its "
        "attributes a derivation that allows it, or the clauses that nothing passes."
    ),
    "Query.whyVisible(entity:)": (
        'The entity: a number, an ident or a lookup ref, e.g. `17`, `[:project/name "web"]`.'
    ),
    "Query.runningQueries": (
        "The queries that wait for their turn or run on this server, the oldest first: for admins."
    ),
    "Query.dryRun": (
        "The report that `transact` would give now, with the policies for the client, or for `as`. Nothing is "
        "committed. What would refuse the transaction is the error."
    ),
    "Query.dryRun(tx:)": "Transaction data, as of `transact`. Either it or `revert` is needed.",
    "Query.dryRun(revert:)": "In place of `tx`, the number of a transaction that `revert` would undo.",
    "Query.dryRun(args:)": "Values for variables in `tx`, as `args` of `transact` has them.",
    "Query.whoami": "The client, as this server sees it.",
    "(query:)": "The query as EDN, e.g. `[:find ?e :in $ ?name :where [?e :user/name ?name]]`.",
    "(args:)": (
        "Values for `:in` after the source `$`, in order, as JSON. Each is read as the type that its position in "
        'the query requires; {"#edn": ":open"} or TAGGED objects say a type. Rules for `%` are EDN text; '
        '{"basis": {"asOf": 5}} is a database for a `$source`.'
    ),
    "(argsEdn:)": (
        'The same as EDN texts, when JSON cannot say it, e.g. `[":open"]`. A basis is {:basis {:as-of 5}}. At '
        "most one of args and argsEdn."
    ),
    "(basis:)": "Which state of the database to read. The default is the newest.",
    "(with:)": (
        "Transaction data that is applied to the basis for this request only. It is never committed, and no "
        "other request sees it."
    ),
    "(withArgs:)": "Values for variables in `with`, as `args` of `transact` has them.",
    "(as:)": "Asks for another identity, with the policies for it: for admins alone.",
    "(first:)": (
        "Page size: at most so many rows. Without it the answer is complete. Pages belong to the snapshot of "
        "the first one."
    ),
    "(after:)": "Continue after this `endCursor`, with the same query and arguments. Without it the first page.",
    "(encoding:)": "How values are written as JSON. The default is PLAIN.",
    "(engine:)": "Where the query runs. The default is AUTO.",
    "(timeoutMs:)": (
        "Milliseconds that the request may take. The server's limit, 60000 by default, is also the most."
    ),
    # Writing
    "Mutation": "Writes. Each field is a transaction of its own.",
    "Mutation.transact": (
        "Applies EDN transaction data atomically. The answer comes when the transaction is on disk."
    ),
    "Mutation.transact(tx:)": (
        'Transaction data: maps and lists, e.g. `[{:person/name "Ada"} [:db/add 17 :person/born 1815]]`.'
    ),
    "Mutation.transact(args:)": (
        'Values for variables in `tx`: {"title": "x"} for `?title`. Each is read as the type of its attribute; '
        "TAGGED objects say a type. A name that nothing in `tx` uses is an error."
    ),
    "Mutation.transactJson": (
        "The same as JSON: maps and lists. Texts are read as the type of their attribute, so keywords are text. "
        "Keys of maps need no colon."
    ),
    "Mutation.transactJson(tx:)": (
        'Transaction data, e.g. `[{"person/name": "Ada"}, ["db/add", 17, "person/born", 1815]]`. In the place '
        'of an entity a text is a tempid, ":status/open" an ident, and ["person/email", "a@b.org"] a lookup ref.'
    ),
    "Mutation.revert": (
        "Undoes a transaction by a new one: what it asserted goes, what it retracted comes back. Refused with "
        "TX_CONFLICT, which says what came since, where that forbids it. Attributes stay declared."
    ),
    "Mutation.revert(t:)": "The number of the transaction to undo.",
    "Mutation.cancelQuery": (
        "Ends a query with CANCELLED for all that wait for its answer: for admins. False if there is none of this "
        "id on this server."
    ),
    "Mutation.cancelQuery(id:)": "Of `runningQueries`.",
    "(expectedBasisT:)": ("Apply only if this is still the newest transaction number; otherwise BASIS_CONFLICT."),
    "(idempotencyKey:)": (
        "Any text for this change, e.g. a UUID. A repetition with the same key and data returns the first "
        "report and applies nothing."
    ),
    # Following
    "Subscription": "Streams, over WebSocket or server-sent events.",
    "Subscription.live": (
        "A query kept up to date: a SNAPSHOT in chunks, then a DELTA for each transaction that changes its result."
    ),
    "Subscription.live(resume:)": "Continue after an event that was received: its `resume` value.",
    "Subscription.live(fromT:)": (
        "Start at this past transaction number and replay the log to now. Not together with `resume`."
    ),
    "Subscription.transactions": "Every transaction from `from` on, none missing, none twice.",
    "Subscription.transactions(from:)": "The first transaction number. The default is the next transaction.",
    # Values
    "EDN": 'EDN text, e.g. `[:find ?p :where [?p :person/name "Ada"]]`.',
    "JSON": "Any JSON value.",
    "Long": "A 64-bit integer: a JSON number while |x| < 2^53, else a string.",
    "Encoding": "How values are written as JSON.",
    "Encoding.PLAIN": (
        'For reading: keywords are ":ns/name", instants ISO-8601 text in UTC, durations ISO-8601 text, uuids '
        "text, integers beyond 2^53 strings. `columns` has the types."
    ),
    "Encoding.TAGGED": (
        'Without loss: what JSON cannot express is wrapped, e.g. {"#kw": "ns/name"}, '
        '{"#inst": "2024-05-01T12:00:00Z"}, {"#duration": "P1M2DT3H"}, {"#long": "9007199254740993"}.'
    ),
    "Encoding.EDN": "One EDN string for each row, and one for `value`.",
    "Engine": "Where a query runs.",
    "Engine.AUTO": "The planner's estimate of the cost decides.",
    "Engine.LOCAL": "In this server's process.",
    "Engine.SPARK": "On the Spark cluster.",
    "BasisInput": "Which state of the database to read. At most one of t and asOf; without both, the newest.",
    "BasisInput.t": "As of this transaction number. A future one is BASIS_FUTURE.",
    "BasisInput.asOf": 'As of this instant: ISO-8601 (UTC without an offset) or EDN, e.g. "2024-05-01T12:00:00Z".',
    "BasisInput.since": "Only datoms asserted after this transaction number, as Datomic's `since`.",
    "BasisInput.sinceInstant": "Only datoms asserted after this instant, written as that of asOf.",
    "BasisInput.history": "All datoms ever asserted or retracted, as Datomic's `history`. The default is false.",
    "AsInput": "An identity, as a token would say it.",
    "AsInput.claims": 'Its claims, e.g. `{sub: "ada"}`.',
    "AsInput.roles": "All values of its roles claim.",
    # Answers
    "QueryResult": "The answer to a query.",
    "QueryResult.columns": "Name and type of each column of `rows`.",
    "QueryResult.entityColumns": (
        "The numbers, from 0, of the columns that show entities: in `columns` their type is long, that of the "
        "values."
    ),
    "QueryResult.rows": "The result relation: a JSON array for each row, an EDN string with the encoding EDN.",
    "QueryResult.value": (
        "The result in the shape of its find spec: relation, collection, tuple, scalar, or maps for `:keys`."
    ),
    "QueryResult.arrow": (
        "The rows as an Arrow IPC stream, base64; null where the stream comes before the JSON. Columns that Arrow "
        "has no exact type for have companions with TAGGED JSON, which the schema's metadata names."
    ),
    "QueryResult.parquet": (
        "The rows as a Parquet file with the columns of `arrow`, base64; null where the response is the file."
    ),
    "QueryResult.basisT": "The transaction number of the snapshot that was read.",
    "QueryResult.pageInfo": "Whether more rows follow this page, and from where.",
    "QueryResult.stats": "Where and how fast the query ran.",
    "QueryResult.warnings": "Likely mistakes: an undeclared attribute, a value that nothing there can equal, …",
    "Column": "A column of an answer.",
    "Column.name": "The variable or expression in `:find`, e.g. `?name`, or its name in `:keys`.",
    "Column.type": "The type of its values, e.g. `string`, `long`, `ref`; `any` for several or unknown ones.",
    "PageInfo": "The ends of a page.",
    "PageInfo.hasNextPage": "Whether more follows after this page.",
    "PageInfo.hasPreviousPage": "Whether there is more before this page.",
    "PageInfo.startCursor": "The place of the first row of the page; null if it is empty.",
    "PageInfo.endCursor": (
        "Pass it as `after` to get the next page. Null if the page is empty, or if no page was asked for."
    ),
    "QueryStats": "Where and how fast a query ran.",
    "QueryStats.engine": "Where it ran: LOCAL or SPARK.",
    "QueryStats.cache": "Whether the answer came from the cache.",
    "QueryStats.elapsedMs": "Milliseconds from the arrival of the query to its answer, `waitedMs` included.",
    "QueryStats.rows": "Number of rows of the whole answer, over all pages.",
    "QueryStats.waitedMs": "Milliseconds of `elapsedMs` in which it waited for other queries.",
    "QueryStats.lane": "The queue in which it waited and ran. Null for an answer from the cache.",
    "CacheOutcome": "Whether an answer came from the cache.",
    "CacheOutcome.HIT": "The answer was kept, or was just being computed for another request.",
    "CacheOutcome.MISS": "The answer was computed.",
    "CacheOutcome.BYPASS": "The cache was not used: it is off, or the query reads `with`, `rand` or `sample`.",
    "Lane": "The queue of a query.",
    "Lane.LIGHT": "For short queries. Heavy ones do not take its slots.",
    "Lane.HEAVY": "For long queries, which take turns.",
    "Warning": "A likely mistake, and what would be right.",
    "Warning.code": "What is suspicious, for programs, e.g. UNKNOWN_ATTRIBUTE.",
    "Warning.message": "The warning in words.",
    "Explanation": "The plan of a query.",
    "Explanation.text": "The plan for people: lines of text.",
    "Explanation.plan": (
        "The same as data: levels, extenders, estimates, strata, engine; with `analyze` also actual counts "
        "and times."
    ),
    "Explanation.warnings": "Likely mistakes, as for `q`.",
    "Index": "An order of datoms: entity, attribute, value, transaction.",
    "Index.EAVT": "By entity: all that is known of one.",
    "Index.AEVT": "By attribute, then entity: a column.",
    "Index.AVET": "By attribute, then value: entities with a value, and ranges of values.",
    "Index.VAET": "By value, of refs only: which entities refer to one.",
    "Datom": "One fact: an entity has a value of an attribute since a transaction.",
    "Datom.e": "The entity id.",
    "Datom.a": "The attribute's ident, e.g. `:person/name`.",
    "Datom.v": "The value; an entity id for refs.",
    "Datom.t": "The number of the transaction.",
    "Datom.added": "True for an assertion, false for a retraction.",
    "DatomPage": "Datoms of an index.",
    "DatomPage.datoms": "The datoms in the order of the index.",
    "DatomPage.pageInfo": "Whether more datoms follow this page, and from where.",
    "TxReport": "What a transaction did.",
    "TxReport.t": "The transaction's number, which is the new `basisT`.",
    "TxReport.basisBefore": "The transaction number before it.",
    "TxReport.txInstant": "When it was applied: ISO-8601 in UTC.",
    "TxReport.tempids": 'The entity ids of its temporary ids, e.g. {"ada": 17}.',
    "TxReport.datoms": "The datoms that it asserted and retracted. Facts that held before are not among them.",
    "TxReport.warnings": (
        "Likely mistakes: a transaction function without rows, an attribute that looks misspelt, …"
    ),
    "Attribute": "An attribute of the schema.",
    "Attribute.ident": "Its name, e.g. `:person/name`.",
    "Attribute.valueType": (
        "The type of its values, e.g. `string`, `long`, `ref`. Null until the first value decides it."
    ),
    "Attribute.cardinality": "Values of one entity: `one` or `many`.",
    "Attribute.unique": (
        "`identity` (a second map with the value changes the same entity), `value` (it is refused), or null."
    ),
    "Attribute.isComponent": "Whether what it refers to is a part, pulled and deleted with the whole.",
    "Attribute.doc": "Its `:db/doc`.",
    "Attribute.datomCount": "Number of its datoms that hold now.",
    "Attribute.noHistory": "Whether views show no past of it (`:db/noHistory`), and its retracted values go.",
    "Attribute.retainDays": (
        "Days after which retracted values may go: its own `:db/retainDays`, or that of `:db/retention`. Null: "
        "no such limit."
    ),
    "Attribute.retainTransactions": "The same in transactions, by `:db/retainTransactions`.",
    "RunningQuery": "A query that waits for its turn or runs.",
    "RunningQuery.id": "For `cancelQuery`.",
    "RunningQuery.text": "The query, or the pattern of a pull; of a long one the beginning.",
    "RunningQuery.principal": "The client that asked first: its name, or its address without authentication.",
    "RunningQuery.requestId": "The X-Request-Id of the request that asked first.",
    "RunningQuery.started": "When it was asked: ISO-8601 in UTC.",
    "RunningQuery.elapsedMs": "Milliseconds since then.",
    "RunningQuery.waitedMs": "Milliseconds of them in which it waited for a slot.",
    "RunningQuery.lane": "LIGHT for queries that are expected to be short, else HEAVY.",
    "RunningQuery.isRunning": "False while it waits for a slot.",
    "Identity": "A client's name and rights.",
    "Identity.principal": (
        "The name of the token, or its `sub`; the `:db/principal` of transactions. Null without authentication."
    ),
    "Identity.roles": 'The roles as the token says them; `["admin"]` without authentication.',
    "Identity.expires": "When the token expires: ISO-8601 in UTC. Null if it does not.",
    "Database": "The newest state of the database.",
    "Database.basisT": "The newest transaction number; 0 for an empty database.",
    "Database.txInstant": "When it was applied: ISO-8601 in UTC. Null for an empty database.",
    "Database.datomCount": "Number of datoms that hold now.",
    "Database.entityCount": "Number of entities with a datom.",
    # Events
    "LiveEvent": "An event of a live query.",
    "LiveEvent.kind": "What the event says, and which of its fields have a value.",
    "LiveEvent.basisT": "The transaction number at which the rows, with this event applied, are the answer.",
    "LiveEvent.resume": "Pass it as `resume` to continue after this event.",
    "LiveEvent.columns": "Name and type of each column, on a SNAPSHOT.",
    "LiveEvent.rows": "SNAPSHOT: the rows of this chunk, at most 1000.",
    "LiveEvent.added": (
        "DELTA: rows that entered the result. Apply it together with `retracted`; no row is in both."
    ),
    "LiveEvent.retracted": "DELTA: rows that left the result.",
    "LiveEvent.last": "SNAPSHOT: true on the last chunk.",
    "LiveEvent.reason": "RESET: why the stream starts over.",
    "LiveEvent.warnings": "Likely mistakes, as for `q`, on the first event of a stream; null on others.",
    "LiveKind": "What an event of a live query says.",
    "LiveKind.SNAPSHOT": "Rows of the whole answer, in chunks.",
    "LiveKind.DELTA": "The rows that transactions added and removed.",
    "LiveKind.PROGRESS": "Nothing changed up to `basisT`.",
    "LiveKind.RESET": "Earlier events no longer count. A SNAPSHOT follows.",
    "Warning.line": "Line in the query's or transaction's text, from 1. Null if no text is at fault.",
    "Warning.column": "Column in that line, from 1.",
}


def describe(schema: GraphQLSchema) -> None:
    """Gives each element of the schema its text; an element without one keeps what it has."""
    for coordinate, element in elements(schema):
        argument = coordinate[coordinate.find("(") :] if "(" in coordinate else coordinate
        element.description = TEXTS.get(coordinate) or TEXTS.get(argument) or element.description


def elements(schema: GraphQLSchema) -> Iterator[tuple[str, Any]]:
    """Every type, field, argument and enum value of the surface, by its coordinate."""
    for name, kind in schema.type_map.items():
        if is_introspection_type(kind) or is_specified_scalar_type(kind):
            continue
        yield name, kind
        parts = {**getattr(kind, "values", {}), **getattr(kind, "fields", {})}
        for part, element in parts.items():
            yield f"{name}.{part}", element
            for argument, its in getattr(element, "args", {}).items():
                yield f"{name}.{part}({argument}:)", its
