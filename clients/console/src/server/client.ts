/** Requests to this server's /graphql, with the token of this tab. */

import { signal } from "@preact/signals";
import { createClient, type AdalogError } from "@adalog/client";

export const endpoint = new URL("graphql", document.baseURI).href;

// The explorer's, too.
const TOKEN = "adalog:token";

/** The bearer token, kept until the tab is closed; empty where none was given. */
export const token = signal(sessionStorage.getItem(TOKEN) ?? "");

/** Called with the refusals that another token would help against. */
export const refusal = signal<AdalogError | undefined>(undefined);

export const client = createClient({ url: endpoint, token: () => token.value || undefined });

/** Takes another token; an empty text forgets it. The page loads anew, as everything on it may look different to another identity. */
export function useToken(text: string): void {
  if (text) sessionStorage.setItem(TOKEN, text);
  else sessionStorage.removeItem(TOKEN);
  window.location.reload();
}

/** The `data` of a GraphQL document. Rejects with an AdalogError. */
export async function ask<Data>(document: string, variables: Record<string, unknown> = {}, signal?: AbortSignal): Promise<Data> {
  try {
    return await client.graphql<Data>(document, variables, { signal });
  } catch (error) {
    if (["UNAUTHENTICATED", "FORBIDDEN"].includes((error as AdalogError).code)) refusal.value = error as AdalogError;
    throw error;
  }
}
