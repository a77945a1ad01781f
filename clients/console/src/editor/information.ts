/** The box beside a completion. Its texts come from the server and are text, never markup. */

import type { EditorView, Rect } from "@codemirror/view";

const WIDTH_PX = 400;

/** Beside the list of options; where there is no room, below all of it, so that the options stay in sight. */
export function placeOfInfo(_: EditorView, list: Rect, option: Rect, info: Rect, space: Rect): { style: string; class: string } {
  const [left, right] = [list.left - space.left, space.right - list.right];
  const room = Math.max(left, right);
  if (room >= info.right - info.left) {
    const isLeft = right < info.right - info.left;
    const top = Math.max(space.top, Math.min(option.top, space.bottom - (info.bottom - info.top))) - list.top;
    return { style: `top: ${top}px; max-width: ${Math.min(WIDTH_PX, room)}px`, class: `cm-completionInfo-${isLeft ? "left" : "right"}` };
  }
  return { style: `top: ${list.bottom - list.top}px; left: 0; max-width: ${space.right - list.left}px`, class: "" };
}

export interface Information {
  /** Shown as code. */
  readonly title: string;
  readonly facts: readonly (string | null | undefined)[];
  /** With code between backticks. */
  readonly doc: string;
}

export function infoOf({ title, facts, doc }: Information): Node {
  const box = element("div", "info");
  box.append(element("code", "info-title", title));
  const known = facts.filter((each) => each).join(" · ");
  if (known) box.append(element("p", "info-facts", known));
  if (doc) {
    const text = element("p", "info-doc");
    doc.split("`").forEach((part, i) => text.append(i % 2 ? element("code", "", part) : part));
    box.append(text);
  }
  return box;
}

function element(name: string, className: string, text = ""): HTMLElement {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.textContent = text;
  return made;
}
