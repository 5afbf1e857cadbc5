import { signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

/** Nothing is kept in the browser, so a new tab begins as the system is; a reload of this one keeps the choice. */
export const theme = signal<Theme>(chosen());

export function setTheme(next: Theme): void {
	theme.value = next;
	history.replaceState({ ...history.state, theme: next }, "");
	apply(next);
}

function chosen(): Theme {
	const { theme: kept } = (history.state ?? {}) as { theme?: Theme };
	const one = kept ?? "auto";
	apply(one);
	return one;
}

function apply(one: Theme): void {
	if (one === "auto") delete document.documentElement.dataset.theme;
	else document.documentElement.dataset.theme = one;
}
