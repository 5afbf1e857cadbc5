import { components as words } from "../messages/components.ts";
import { dismiss, toasts } from "./toasts.ts";

/** What `toast` says. */
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

function Those({ tone: shown }: { tone: "good" | "bad" }) {
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
