// GraphQL Code Generator without its command: writes its output from `schema.graphql`, `issues.graphql` and `codegen.mjs`.

import { readFileSync, writeFileSync } from "node:fs";
import { codegen } from "@graphql-codegen/core";
import * as operations from "@graphql-codegen/typescript-operations";
import * as documents from "@graphql-codegen/typed-document-node";
import { parse } from "graphql";
import settings from "./codegen.mjs";

const [[filename, { plugins, config }]] = Object.entries(settings.generates);
const text = await codegen({
  schema: parse(readFileSync("schema.graphql", "utf8")),
  documents: [{ location: "issues.graphql", document: parse(readFileSync("issues.graphql", "utf8")) }],
  filename,
  plugins: plugins.map((name) => ({ [name]: {} })),
  pluginMap: { "typescript-operations": operations, "typed-document-node": documents },
  config,
});
writeFileSync("documents.ts", text);
