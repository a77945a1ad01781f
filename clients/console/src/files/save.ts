/** Saves an answer as a file, or copies it: all its rows, in the order of the answer. */

import { momentOf } from "../parts/moment.js";
import type { Answer } from "../server/answers.js";
import { documentOf, variablesOf } from "../server/answers.js";
import { endpoint, token } from "../server/client.js";

/** Hands text or bytes to the browser as a file. */
export function download(name: string, content: BlobPart, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

export async function copy(text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
}

/** A file that the server writes: the field of an answer that is it, and its media type. */
export interface ServerFile {
  readonly field: "arrow" | "parquet";
  readonly type: string;
}

export const ARROW: ServerFile = { field: "arrow", type: "application/vnd.apache.arrow.stream" };
export const PARQUET: ServerFile = { field: "parquet", type: "application/vnd.apache.parquet" };

/** The answer as the server writes it: it is asked again at its moment. */
export async function written(answer: Answer, { field, type }: ServerFile): Promise<ArrayBuffer> {
  const { basis } = momentOf(answer);
  const question = { ...answer.question, basis: { ...answer.question.basis, ...basis } };
  const headers: Record<string, string> = { "Content-Type": "application/json", Accept: type };
  if (token.value) headers["Authorization"] = `Bearer ${token.value}`;
  const body = JSON.stringify({ query: documentOf("q", `{ ${field} }`), variables: variablesOf(question) });
  const response = await fetch(endpoint, { method: "POST", headers, body });
  if (!response.headers.get("Content-Type")?.startsWith(type)) {
    const { errors } = (await response.json()) as { errors?: readonly { message: string }[] };
    throw new Error(errors?.[0]?.message ?? `the server has sent no ${field}`);
  }
  const whole = await response.arrayBuffer();
  // The rest of an Arrow answer is JSON.
  const length = response.headers.get("Adalog-Arrow-Bytes");
  return length === null ? whole : whole.slice(0, Number(length));
}
