import { options } from "preact";
import { linesForTerminal } from "../../packages/escapes/terminal.ts";

/** Attributes that people read or hear. What they change (`value`), and where a link leads, stays as it is. */
const readAttributes = ["title", "aria-label", "placeholder", "data-title"];

/**
 * Shows control characters, and those that turn the direction of reading, as the CLI does: as `\u202e`. Strangers write names,
 * headers and bodies, and a page shows them in so many places that this stands where Preact makes every text and attribute.
 */
export function showHiddenCharacters(): void {
	const { vnode: next } = options;
	options.vnode = (vnode) => {
		// Preact's own node of a text has no type, and the text in place of properties.
		const node = vnode as { type: unknown; props: unknown };
		if (node.type === null && typeof node.props === "string")
			node.props = linesForTerminal(node.props);
		else if (typeof node.type === "string") {
			const attributes = node.props as Record<string, unknown>;
			for (const name of readAttributes) {
				const { [name]: value } = attributes;
				if (typeof value === "string")
					attributes[name] = linesForTerminal(value);
			}
		}
		next?.(vnode);
	};
}
