/** Saves an answer as a file, or copies it: all its rows, in the order of the answer. */

import type { Answer } from "../server/answers.js";
import { documentOf, variablesOf } from "../server/answers.js";
import { endpoint, token } from "../server/client.js";
import { momentOf } from "../parts/moment.js";

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

export const ARROW = "application/vnd.apache.arrow.stream";

/** The answer as an Arrow IPC stream, which the server writes: it is asked again at its moment. */
export async function asArrow(answer: Answer): Promise<ArrayBuffer> {
  const { basis } = momentOf(answer);
  const question = { ...answer.question, basis: { ...answer.question.basis, ...basis } };
  const headers: Record<string, string> = { "Content-Type": "application/json", Accept: ARROW };
  if (token.value) headers["Authorization"] = `Bearer ${token.value}`;
  const body = JSON.stringify({ query: documentOf("q", "{ arrow }"), variables: variablesOf(question) });
  const response = await fetch(endpoint, { method: "POST", headers, body });
  if (!response.headers.get("Content-Type")?.startsWith(ARROW)) {
    const { errors } = (await response.json()) as { errors?: readonly { message: string }[] };
    throw new Error(errors?.[0]?.message ?? "the server has sent no Arrow stream");
  }
  const whole = await response.arrayBuffer();
  // The rest of an Arrow answer is JSON.
  const length = response.headers.get("Adalog-Arrow-Bytes");
  return length === null ? whole : whole.slice(0, Number(length));
}
