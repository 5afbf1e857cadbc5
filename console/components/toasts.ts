import { effect, signal } from "@preact/signals";
import { session } from "../api/session.ts";

interface Toast {
	id: number;
	text: string;
	tone: "good" | "bad";
	undo?: (() => void) | undefined;
}

/** What is said at the edge of the page. */
export const toasts = signal<readonly Toast[]>([]);
let next = 0;

// They are of one visitor, whose clicks nobody else takes back.
let visitor: string | undefined;
effect(() => {
	const user = session.value?.user;
	if (user !== visitor) toasts.value = [];
	visitor = user;
});

/**
 * Says what happened at the edge of the page. Good news goes by itself; bad news, and what can be undone, stays until it is dismissed.
 * @param undo takes back what was done, wherever the visitor is by then
 */
export function toast(
	text: string,
	tone: Toast["tone"] = "good",
	undo?: () => void,
): void {
	const id = next++;
	toasts.value = [...toasts.value.slice(-3), { id, text, tone, undo }];
	if (tone === "good" && !undo) setTimeout(() => dismiss(id), 6000);
}

export function dismiss(id: number): void {
	toasts.value = toasts.value.filter((one) => one.id !== id);
}

/** Whether something can still be undone. */
export function hasUndo(): boolean {
	return toasts.peek().some(({ undo }) => undo);
}
