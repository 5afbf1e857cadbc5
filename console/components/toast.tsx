import { signal } from "@preact/signals";
import { components as words } from "../messages/components.ts";

interface Toast {
	id: number;
	text: string;
	tone: "good" | "bad";
	undo?: (() => void) | undefined;
}

const toasts = signal<Toast[]>([]);
let next = 0;

/**
 * Says what happened at the edge of the page. Good news goes by itself; bad news, and what can be undone, stays until it is dismissed.
 * @param undo takes back what was done
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

function dismiss(id: number): void {
	toasts.value = toasts.value.filter((one) => one.id !== id);
}

export function Toasts() {
	return (
		<div class="toasts">
			{/* Both are there before a text comes: only then does a screen reader say it. */}
			<div role="status">
				<Those tone="good" />
			</div>
			<div role="alert">
				<Those tone="bad" />
			</div>
		</div>
	);
}

function Those({ tone: shown }: Pick<Toast, "tone">) {
	return (
		<>
			{toasts.value
				.filter(({ tone }) => tone === shown)
				.map(({ id, text, tone, undo }) => (
					<div key={id} class={`toast toast-${tone}`}>
						<span>{text}</span>
						{undo && (
							<button
								type="button"
								class="button-small"
								onClick={() => {
									dismiss(id);
									undo();
								}}
							>
								{words.undo}
							</button>
						)}
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
		</>
	);
}
