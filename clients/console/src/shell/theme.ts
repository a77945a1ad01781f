/** Light or dark: the system's choice, unless the reader has chosen. */

import { effect, signal } from "@preact/signals";

const KEY = "adalog:theme";
const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

export const theme = signal<Theme>(THEMES.find((each) => each === localStorage.getItem(KEY)) ?? "system");

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
  localStorage.setItem(KEY, theme.value);
});

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
}
