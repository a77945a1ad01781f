/** An editor for EDN. CodeMirror comes after the first paint; until then there is a plain text area with the same text. */

import type { Extension } from "@codemirror/state";
import type { Signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Mounted } from "./codemirror.js";
import type { Destination } from "./destination.js";
import { html } from "../parts/html.js";

export interface EditorProperties {
  readonly label: string;
  /** Its text; the editor follows it, and changes it. */
  readonly text: Signal<string>;
  /** Called for Ctrl-Enter, or Cmd-Enter. */
  readonly onRun?: () => void;
  /** Loads completion, problems and the like; the same function each time. */
  readonly extensions?: () => Promise<Extension>;
  /** Where the cursor is to go; emptied when it is there. */
  readonly destination?: Signal<Destination | undefined>;
}

export function Editor({ label, text, onRun, extensions, destination }: EditorProperties) {
  const host = useRef<HTMLDivElement>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  const [mounted, setMounted] = useState<Pick<Mounted, "focus" | "goTo"> & { readonly hadFocus: boolean }>();
  const run = useRef(onRun);
  run.current = onRun;
  useEffect(() => {
    const disposal = new AbortController();
    void Promise.all([import("./codemirror.js"), extensions?.() ?? []]).then(([{ mount }, more]) => {
      const element = host.current;
      if (disposal.signal.aborted || !element) return;
      const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
      const { focus, goTo, remove } = mount(root, { label, text, onRun: () => run.current?.(), extensions: more });
      disposal.signal.addEventListener("abort", remove);
      setMounted({ focus, goTo, hadFocus: document.activeElement === area.current });
    });
    return () => disposal.abort();
  }, [label, text, extensions]);
  // Not before the text area is gone: until then the editor is hidden.
  useEffect(() => {
    if (mounted?.hadFocus) mounted.focus();
  }, [mounted]);
  const wanted = destination?.value;
  useEffect(() => {
    if (!mounted || !wanted || !destination) return;
    mounted.goTo(wanted.line, wanted.column);
    destination.value = undefined;
  }, [mounted, wanted]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run.current?.();
  };
  const onInput = (event: Event) => {
    text.value = (event.target as HTMLTextAreaElement).value;
  };
  return html`
    <div class="editor">
      <div class="editor-host" ref=${host}></div>
      ${!mounted && html`<textarea ref=${area} aria-label=${label} spellcheck=${false} onInput=${onInput} onKeyDown=${onKeyDown}>${text.value}</textarea>`}
    </div>
  `;
}
