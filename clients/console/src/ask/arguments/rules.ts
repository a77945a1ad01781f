/** The rules for `%`, in an editor. */

import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { Editor } from "../../editor/editor.js";
import { html, type Markup } from "../../parts/html.js";
import type { FieldProperties } from "./rows.js";

export function RulesField({ text, onChange, onRun }: FieldProperties & { readonly onRun: () => void }): Markup {
  const own = useMemo(() => signal(text), []);
  useEffect(() => {
    own.value = text;
  }, [text]);
  useEffect(() => own.subscribe((now) => onChange(now)), [onChange]);
  return html`<div class="argument-rules"><${Editor} label="Rules" text=${own} onRun=${onRun} /></div>`;
}
