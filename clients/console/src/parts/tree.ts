/** A tree that opens step by step, with the keys of a tree: arrows, Home, End, Enter and Space. */

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { html, type Markup } from "./html.js";

export interface TreeNode {
  readonly content: ComponentChildren;
  /** The nodes below, asked for when it is opened; not there for a leaf. */
  readonly below?: (() => readonly TreeNode[] | Promise<readonly TreeNode[]>) | undefined;
  /** Whether it is open at first. */
  readonly isOpen?: boolean;
}

type Below = readonly TreeNode[] | "loading" | "closed" | Error;

export function Tree({ label, roots }: { label: string; roots: readonly TreeNode[] }) {
  const tree = useRef<HTMLUListElement>(null);
  const [opened, setOpened] = useState<ReadonlyMap<string, Below>>(new Map());
  const [active, setActive] = useState("0");
  const nodes = new Map<string, TreeNode>();

  const set = (path: string, below: Below) => setOpened((all) => new Map(all).set(path, below));
  const shown = (path: string, node: TreeNode): Below => {
    const known = opened.get(path);
    if (known !== undefined) return known;
    const below = node.isOpen ? node.below?.() : undefined;
    return below === undefined || below instanceof Promise ? "closed" : below;
  };
  const open = (path: string, node: TreeNode) => {
    const below = node.below?.();
    if (below === undefined) return;
    if (!(below instanceof Promise)) {
      set(path, below);
      return;
    }
    set(path, "loading");
    below.then(
      (found) => set(path, found),
      (error: unknown) => set(path, error instanceof Error ? error : new Error(String(error))),
    );
  };
  const toggle = (path: string) => {
    const node = nodes.get(path);
    if (node?.below === undefined) return;
    if (shown(path, node) === "closed") open(path, node);
    else set(path, "closed");
  };

  const item = (node: TreeNode, path: string, level: number, index: number, of: number): Markup => {
    nodes.set(path, node);
    const below = shown(path, node);
    const isClosed = below === "closed";
    return html`
      <li
        key=${path}
        role="treeitem"
        data-path=${path}
        aria-level=${level}
        aria-posinset=${index + 1}
        aria-setsize=${of}
        aria-expanded=${node.below && !isClosed}
        aria-selected=${active === path}
        tabindex=${active === path ? 0 : -1}
      >
        <div class="tree-line" onClick=${(event: MouseEvent) => clicked(event, path)}>
          <span class="tree-mark" aria-hidden="true">${node.below ? (isClosed ? "▸" : "▾") : ""}</span>
          <div class="tree-content">${node.content}</div>
        </div>
        ${below === "loading" && html`<p class="note" role="status">Loading…</p>`}
        ${below instanceof Error && html`<p class="error" role="alert">${below.message}</p>`}
        ${Array.isArray(below) && html`<ul role="group">${below.map((each, i) => item(each, `${path}.${i}`, level + 1, i, below.length))}</ul>`}
      </li>
    `;
  };

  const clicked = (event: MouseEvent, path: string) => {
    if ((event.target as Element).closest("button, a, input")) return;
    focus(path);
    toggle(path);
  };
  const focus = (path: string | undefined) => {
    if (path === undefined) return;
    setActive(path);
    tree.current?.querySelector<HTMLElement>(`[data-path="${path}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // A button within has its own keys.
    if ((event.target as Element).getAttribute("role") !== "treeitem" || event.ctrlKey || event.altKey || event.metaKey) return;
    const path = (event.target as HTMLElement).dataset["path"] ?? "0";
    const node = nodes.get(path);
    // In the order of the page, as all that are open are in it.
    const all = [...(tree.current?.querySelectorAll<HTMLElement>("[role=treeitem]") ?? [])].map((each) => each.dataset["path"] ?? "");
    const at = all.indexOf(path);
    const isOpen = node?.below !== undefined && shown(path, node) !== "closed";
    switch (event.key) {
      case "ArrowDown":
        focus(all[at + 1]);
        break;
      case "ArrowUp":
        focus(all[at - 1]);
        break;
      case "Home":
        focus(all[0]);
        break;
      case "End":
        focus(all.at(-1));
        break;
      case "ArrowRight":
        if (isOpen) focus(all.find((each) => each === `${path}.0`));
        else toggle(path);
        break;
      case "ArrowLeft":
        if (isOpen) toggle(path);
        else if (path.includes(".")) focus(path.slice(0, path.lastIndexOf(".")));
        break;
      case "Enter":
      case " ":
        toggle(path);
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return html`
    <ul class="tree" role="tree" aria-label=${label} ref=${tree} onKeyDown=${onKeyDown}>
      ${roots.map((node, i) => item(node, `${i}`, 1, i, roots.length))}
    </ul>
  `;
}
