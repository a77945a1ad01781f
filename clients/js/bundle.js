// One file with this client and that of graphql-ws, for pages without a build step: `npm run bundle` writes examples/live/adalog-client.js.
export * from "./dist/index.js";
export { createClient as createWebSocketClient } from "graphql-ws";
