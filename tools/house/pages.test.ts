import { expect, test } from "vitest";
import { isOnTarget } from "./measure.ts";
import { wordsOfPages } from "./pages.ts";

test("the words of pages by hand count once, and those that are looked up don't", () => {
	const figure = wordsOfPages(
		new Map([
			["README.md", "# Tidemill\n\nOne two.\n"],
			["docs/postgres.md", "three\tfour"],
			["docs/reference/settings.md", "five"],
			["clients/python/README.md", "six seven"],
			["docs/quickstart.md", "One two."],
			["packages/warehouses/postgres/docs.md", "three four"],
			["docs/reference/source.md", "generated"],
			["docs/decisions/0015-withdrawn.md", "why"],
			["docs/runbooks/TidemillS3Down.md", "fix"],
		]),
	);
	expect(figure.value).toBe(9);
	expect(isOnTarget(figure)).toBe(true);
});

test("too many words miss the target", () => {
	const pages = new Map([["docs/faq.md", "word ".repeat(38_001)]]);
	expect(isOnTarget(wordsOfPages(pages))).toBe(false);
});
