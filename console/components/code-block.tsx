import { useMemo, useState } from "preact/hooks";
import { components as words } from "../messages/components.ts";
import { CopyButton } from "./copy-button.tsx";
import { piecesOf } from "./text-pieces.ts";

/** What a browser lays out at once without a pause. */
const shownChars = 100_000;

/**
 * Text as it is, in a box that scrolls, with a button that copies it. A long one is cut until the visitor asks for all; then the
 * browser lays out the pieces that are in view.
 */
export function CodeBlock({
	text,
	label,
	format = asItIs,
	copy = true,
	isWrapped = false,
}: {
	text: string;
	label: string;
	/** How people read the text; of a long one the beginning is shown, of at least so many characters. */
	format?: (text: string, atMost?: number) => string;
	copy?: boolean;
	/** Lines that are too long go on in the next one, as of a command. */
	isWrapped?: boolean;
}) {
	const [isWhole, setWhole] = useState(false);
	const formatted = useMemo(
		() => format(text, isWhole ? undefined : shownChars + 1),
		[format, text, isWhole],
	);
	const isLong = formatted.length > shownChars;
	const isCut = isLong && !isWhole;
	// Made once: the same nodes cost no work when the page changes elsewhere.
	const shown = useMemo(
		() =>
			isLong && isWhole
				? piecesOf(formatted).map(([start, piece]) => (
						<span key={start} class="code-piece">
							{piece}
						</span>
					))
				: formatted.slice(0, shownChars),
		[formatted, isLong, isWhole],
	);
	return (
		<figure class={isWrapped ? "code code-wrapped" : "code"}>
			<figcaption>
				<span>{label}</span>
				{copy && (
					<CopyButton
						text={() => format(text)}
						label={`${words.copy}: ${label}`}
					/>
				)}
			</figcaption>
			{/* biome-ignore lint/a11y/useSemanticElements: a section can't keep the line breaks of its text. */}
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard (WCAG 2.1.1). */}
			<pre tabIndex={0} role="region" aria-label={label}>
				{shown}
			</pre>
			{isCut && (
				<p class="quiet">
					{words.cutOff(shownChars.toLocaleString("en"))}{" "}
					<button
						type="button"
						class="button-link"
						onClick={() => setWhole(true)}
					>
						{words.showAll}
					</button>
				</p>
			)}
		</figure>
	);
}

function asItIs(text: string): string {
	return text;
}
