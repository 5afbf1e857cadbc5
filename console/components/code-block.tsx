import { useState } from "preact/hooks";
import { components as words } from "../messages/components.ts";
import { CopyButton } from "./copy-button.tsx";

/** What a browser lays out at once without a pause. */
const shownChars = 100_000;

/** Text as it is, in a box that scrolls, with a button that copies it. A long one is cut until the visitor asks for all. */
export function CodeBlock({
	text,
	label,
	copy = true,
	isWrapped = false,
}: {
	text: string;
	label: string;
	copy?: boolean;
	/** Lines that are too long go on in the next one, as of a command. */
	isWrapped?: boolean;
}) {
	const [isWhole, setWhole] = useState(false);
	const isCut = !isWhole && text.length > shownChars;
	return (
		<figure class={isWrapped ? "code code-wrapped" : "code"}>
			<figcaption>
				<span>{label}</span>
				{copy && <CopyButton text={text} label={`${words.copy}: ${label}`} />}
			</figcaption>
			{/* biome-ignore lint/a11y/useSemanticElements: a section can't keep the line breaks of its text. */}
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard (WCAG 2.1.1). */}
			<pre tabIndex={0} role="region" aria-label={label}>
				{isCut ? text.slice(0, shownChars) : text}
			</pre>
			{isCut && (
				<p class="quiet">
					{words.cutOff(
						shownChars.toLocaleString("en"),
						text.length.toLocaleString("en"),
					)}{" "}
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
