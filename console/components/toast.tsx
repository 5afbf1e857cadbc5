import { signal } from "@preact/signals";
import { components as words } from "../messages/components.ts";

interface Toast {
	id: number;
	text: string;
	tone: "good" | "bad";
}

const toasts = signal<Toast[]>([]);
let next = 0;

/** Says what happened at the edge of the page; good news goes by itself, bad news stays until it is dismissed. */
export function toast(text: string, tone: Toast["tone"] = "good"): void {
	const id = next++;
	toasts.value = [...toasts.value.slice(-3), { id, text, tone }];
	if (tone === "good") setTimeout(() => dismiss(id), 6000);
}

function dismiss(id: number): void {
	toasts.value = toasts.value.filter((one) => one.id !== id);
}

export function Toasts() {
	return (
		<div class="toasts" role="status" aria-live="polite">
			{toasts.value.map(({ id, text, tone }) => (
				<div key={id} class={`toast toast-${tone}`}>
					<span>{text}</span>
					<button
						type="button"
						class="button-quiet"
						aria-label={words.dismiss}
						onClick={() => dismiss(id)}
					>
						×
					</button>
				</div>
			))}
		</div>
	);
}
