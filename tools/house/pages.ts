import type { HouseFigure } from "./measure.ts";

/** What people write and read: not the reference, the runbooks and the decisions, which are looked up. Settings are written by hand, too. */
const written =
	/^(docs\/[^/]+\.md|docs\/reference\/settings\.md|README\.md|clients\/[^/]+\/README\.md)$/;
/** The README's part, once more. */
const copied = "docs/quickstart.md";

/**
 * How much people have to read. A warehouse's page counts once, as docs/ has it.
 * @param pages The text of each page by its path from the root.
 */
export function wordsOfPages(pages: ReadonlyMap<string, string>): HouseFigure {
	const own = [...pages].filter(
		([path]) => written.test(path) && path !== copied,
	);
	const value = own.reduce(
		(sum, [, text]) => sum + (text.match(/\S+/g)?.length ?? 0),
		0,
	);
	return {
		name: "words of the pages by hand",
		value,
		target: { atMost: 38_000 },
	};
}
