/** The frame of the console: its pages, the identity that asks, and the panel at the side. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Ask } from "../ask/page.js";
import { html } from "../parts/html.js";
import { Side } from "../parts/side.js";
import { refusal } from "../server/client.js";
import { database, isAdmin, refresh } from "../server/database.js";
import { IdentityButton, SignIn } from "./identity.js";
import { LookingAs } from "./looking-as.js";
import { place } from "./route.js";
import { nextTheme, theme } from "./theme.js";

interface Page {
  readonly title: string;
  /** Pages other than the first are loaded when they are opened. */
  readonly load: () => Promise<ComponentType> | ComponentType;
  readonly forAdmins?: boolean;
  /** It is opened by a link, not from the list of pages. */
  readonly isUnlisted?: boolean;
}

const PAGES: Readonly<Record<string, Page>> = {
  ask: { title: "Ask", load: () => Ask },
  entity: { title: "Entity", load: async () => (await import("../entity/page.js")).EntityPage, isUnlisted: true },
  schema: { title: "Schema", load: async () => (await import("../schema/page.js")).Schema },
  change: { title: "Change", load: async () => (await import("../change/page.js")).Change },
  whom: { title: "As whom", load: async () => (await import("../whom/page.js")).Whom, forAdmins: true },
  health: { title: "Health", load: async () => (await import("../health/page.js")).Health },
};

export function Shell() {
  useEffect(() => void refresh().catch(() => undefined), []);
  const current = place.value.page;
  const pages = Object.entries(PAGES).filter(([, page]) => !page.isUnlisted && (!page.forAdmins || isAdmin()));
  return html`
    <a class="skip" href="#content" onClick=${toContent}>Skip to the content</a>
    <header class="bar">
      <a class="logo" href="#/ask">adalog</a>
      <nav aria-label="Pages">
        ${pages.map(
          ([name, { title }]) =>
            html`<a key=${name} href=${`#/${name}`} aria-current=${name === current ? "page" : undefined}>${title}</a>`,
        )}
      </nav>
      <div class="bar-end">
        <a href="graphql">GraphiQL</a>
        <a href="docs/">Docs</a>
        <button type="button" class="quiet" aria-label=${`Theme: ${theme.value}`} onClick=${nextTheme} title="Switch between the system's, light and dark colours">
          <span class="wide-only">Theme: </span>${theme.value}
        </button>
        <${IdentityButton} />
      </div>
    </header>
    <div class="body">
      <main id="content" tabindex="-1"><${LookingAs} />${needsToken() ? html`<${SignIn} />` : html`<${Content} name=${current} />`}</main>
      <${Side} />
    </div>
  `;
}

// The hash is the place in the console, so a link cannot move the focus.
function toContent(event: Event): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

function needsToken(): boolean {
  return refusal.value?.code === "UNAUTHENTICATED" && database.value === undefined;
}

function Content({ name }: { name: string }) {
  const page = PAGES[name];
  const [loaded, setLoaded] = useState<{ readonly name: string; readonly component: ComponentType } | undefined>(
    name === "ask" ? { name, component: Ask } : undefined,
  );
  const [failure, setFailure] = useState<string>();
  useEffect(() => {
    setFailure(undefined);
    Promise.resolve(page?.load()).then(
      (component) => component && setLoaded({ name, component }),
      (error: unknown) => setFailure(`This page cannot be loaded: ${String(error)}. Load the console again.`),
    );
  }, [name]);
  useEffect(() => {
    document.title = page ? `${page.title} · adalog` : "adalog";
  }, [name]);
  if (page === undefined) return html`<p class="note">There is no page ${name} in the console. <a href="#/ask">Ask</a> is the first one.</p>`;
  if (failure) return html`<p class="error" role="alert">${failure}</p>`;
  return loaded?.name === name ? html`<${loaded.component} />` : html`<p class="note" role="status">Loading…</p>`;
}
