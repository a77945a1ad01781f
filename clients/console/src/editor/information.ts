/** The box beside a completion. Its texts come from the server and are text, never markup. */

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
