/** `useLive`: a live query as React state. Components that ask the same share one subscription. */

import { createContext, createElement, useCallback, useContext, useSyncExternalStore, type ReactElement, type ReactNode } from "react";

import { jsonArguments, type Argument } from "./arguments.js";
import type { Client } from "./client.js";
import type { LiveOptions, LiveQuery, LiveState } from "./live.js";
import { canonical } from "./rows.js";
import type { Json } from "./wire.js";

/** `idle`: there is no query. */
export type UseLiveState<Row> = Omit<LiveState<Row>, "status"> & { readonly status: LiveState<Row>["status"] | "idle" };

export interface UseLiveOptions extends Pick<LiveOptions<unknown>, "argsEdn" | "encoding" | "fromT"> {
  /** Columns, by name or position, that tell rows apart; by default the whole row. */
  readonly key?: readonly (string | number)[];
  /** In place of the provider's. */
  readonly client?: Client;
  /** How long a subscription stays open after its last component has gone; 250 ms by default. */
  readonly lingerMs?: number;
}

const ClientContext = createContext<Client | undefined>(undefined);

/** Gives its children the client. */
export function AdalogProvider(props: { readonly client: Client; readonly children?: ReactNode }): ReactElement {
  return createElement(ClientContext.Provider, { value: props.client }, props.children);
}

/** The client of the nearest `AdalogProvider`. */
export function useClient(): Client {
  const client = useContext(ClientContext);
  if (client === undefined) throw new Error("no client: put an <AdalogProvider client={…}> around this component");
  return client;
}

/**
 * The rows of a query, kept up to date. Rows that stay are the same objects, and `rows` is the same array until one comes
 * or goes. Without a query (`null`) nothing is asked. Arguments and options are compared by value.
 */
export function useLive<Row = Json[]>(
  query: string | null,
  args: readonly Argument[] = [],
  options: UseLiveOptions = {},
): UseLiveState<Row> {
  const provided = useContext(ClientContext);
  const { client = provided, lingerMs = 250, argsEdn, encoding, fromT, key } = options;
  if (client === undefined) throw new Error("no client: put an <AdalogProvider client={…}> around this component");
  const id = query === null ? null : canonical({ query, args: jsonArguments(args), argsEdn, encoding, fromT, key });

  const subscribe = useCallback(
    (listener: () => void) => (id === null ? () => {} : shared(client).subscribe(id, lingerMs, listener)),
    [client, id, lingerMs],
  );
  const state = useCallback(() => (id === null ? IDLE : (shared(client).state(id) ?? LOADING)), [client, id]);
  return useSyncExternalStore(subscribe, state, id === null ? idle : loading) as UseLiveState<Row>;
}

const NOTHING = { rows: [], columns: [], basisT: undefined, resume: undefined, error: undefined, warnings: [] } as const;
const LOADING: UseLiveState<unknown> = { ...NOTHING, status: "loading" };
const IDLE: UseLiveState<unknown> = { ...NOTHING, status: "idle" };
const loading = () => LOADING;
const idle = () => IDLE;

interface Subscription {
  readonly live: LiveQuery<unknown>;
  components: number;
  closing: ReturnType<typeof setTimeout> | undefined;
}

/** The open subscriptions of one client, by what they ask. Rendering looks one up; only an effect opens one. */
class Subscriptions {
  readonly #open = new Map<string, Subscription>();

  constructor(private readonly client: Client) {}

  state(id: string): LiveState<unknown> | undefined {
    return this.#open.get(id)?.live.getState();
  }

  subscribe(id: string, lingerMs: number, listener: () => void): () => void {
    const subscription = this.#open.get(id) ?? this.#start(id);
    subscription.components += 1;
    clearTimeout(subscription.closing);
    const stop = subscription.live.subscribe(listener);
    return () => {
      stop();
      subscription.components -= 1;
      if (subscription.components > 0) return;
      subscription.closing = setTimeout(() => {
        if (this.#open.get(id) === subscription) this.#open.delete(id);
        subscription.live.close();
      }, lingerMs);
    };
  }

  #start(id: string): Subscription {
    const { query, args, ...options } = JSON.parse(id) as { query: string; args: Json[] } & LiveOptions<unknown>;
    const subscription = { live: this.client.live(query, args, options), components: 0, closing: undefined };
    this.#open.set(id, subscription);
    return subscription;
  }
}

const subscriptions = new WeakMap<Client, Subscriptions>();

function shared(client: Client): Subscriptions {
  let found = subscriptions.get(client);
  if (found === undefined) subscriptions.set(client, (found = new Subscriptions(client)));
  return found;
}
