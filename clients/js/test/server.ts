/** A server of one's own: it speaks graphql-sse's distinct connections mode, and does what a test says. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Request {
  readonly query: string;
  readonly variables: Record<string, unknown>;
  readonly extensions?: Record<string, unknown>;
}

/** A request that came; what a test answers. */
export class Exchange {
  readonly closed: Promise<void>;

  constructor(
    readonly body: Request,
    readonly headers: IncomingMessage["headers"],
    private readonly response: ServerResponse,
  ) {
    this.closed = new Promise((resolve) => response.on("close", () => resolve()));
  }

  get variables(): Record<string, unknown> {
    return this.body.variables;
  }

  answer(body: unknown, status = 200, headers: Record<string, string> = {}): void {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    this.response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
  }

  /** Accepts the subscription. */
  open(): this {
    this.response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
    this.response.flushHeaders();
    return this;
  }

  write(text: string): this {
    if (!this.response.headersSent) this.open();
    this.response.write(text);
    return this;
  }

  /** Events of `live`, in one piece. */
  send(...events: Record<string, unknown>[]): this {
    return this.data(...events.map((live) => ({ live })));
  }

  /** Events with this data, in one piece. */
  data(...events: unknown[]): this {
    return this.write(events.map((data) => `event: next\ndata: ${JSON.stringify({ data })}\n\n`).join(""));
  }

  errors(code: string, retryable = false, message = code): this {
    const errors = [{ message, extensions: { code, retryable } }];
    return this.write(`event: next\ndata: ${JSON.stringify({ errors })}\n\n`);
  }

  complete(): void {
    this.write("event: complete\ndata:\n\n");
    this.response.end();
  }

  /** Ends the response, wherever it is. */
  end(): void {
    if (!this.response.headersSent) this.open();
    this.response.end();
  }

  /** Cuts the connection. */
  cut(): void {
    this.response.destroy();
  }
}

export class FakeServer {
  readonly #arrived: Exchange[] = [];
  readonly #awaited: ((exchange: Exchange) => void)[] = [];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<FakeServer> {
    const server = createServer();
    const fake = new FakeServer(server);
    server.on("request", async (request, response) => {
      let text = "";
      for await (const piece of request) text += piece;
      const exchange = new Exchange(JSON.parse(text) as Request, request.headers, response);
      const awaited = fake.#awaited.shift();
      if (awaited === undefined) fake.#arrived.push(exchange);
      else awaited(exchange);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/graphql`;
  }

  /** The next request. */
  next(): Promise<Exchange> {
    const exchange = this.#arrived.shift();
    return exchange === undefined ? new Promise((resolve) => this.#awaited.push(resolve)) : Promise.resolve(exchange);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

export const COLUMNS = [
  { name: "?id", type: "long" },
  { name: "?name", type: "string" },
];

export function snapshot(basisT: number, rows: unknown[], last = true) {
  return { kind: "SNAPSHOT", basisT, resume: last ? `r${basisT}` : `r${basisT}+${rows.length}`, columns: COLUMNS, rows, last };
}

export function delta(basisT: number, added: unknown[], retracted: unknown[] = []) {
  return { kind: "DELTA", basisT, resume: `r${basisT}`, added, retracted };
}

export function progress(basisT: number) {
  return { kind: "PROGRESS", basisT, resume: `r${basisT}` };
}

export function reset(basisT: number, reason: string) {
  return { kind: "RESET", basisT, resume: `r${basisT}`, reason };
}

/** Resolves with the state once it is as wanted; fails where it cannot become so any more. */
export function until<Row>(
  live: import("@adalog/client").LiveQuery<Row>,
  wanted: (state: import("@adalog/client").LiveState<Row>) => boolean,
): Promise<import("@adalog/client").LiveState<Row>> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const state = live.getState();
      if (wanted(state)) resolve(state);
      else if (state.status === "failed") reject(state.error);
      else return;
      stop();
    };
    const stop = live.subscribe(look);
    look();
  });
}
