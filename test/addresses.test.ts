import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { githubSlug, headingsOf } from "../docs/.vitepress/headings.ts";
import { moved } from "../docs/.vitepress/moved.ts";
import { searches } from "./support/site/searches.ts";

/* Each address of a page or a heading, wherever it stands, leads to one that is there. */

const root = join(import.meta.dirname, "..");
const exclude = ["**/{node_modules,dist,generated}/**", ".tidemill/**"];
const find = (pattern: string) => globSync(pattern, { cwd: root, exclude });
const textOf = (file: string) => readFileSync(join(root, file), "utf8");
const headings = new Map(
	find("**/*.md").map((file) => [file, headingsOf(textOf(file))]),
);

/** @param at `page.md#heading`, from the root; the heading may be absent. */
function isThere(at: string): boolean {
	const [page, heading] = at.split("#");
	const found = headings.get(page!);
	return found !== undefined && (!heading || found.includes(heading));
}

test("each link of a page to a heading leads to one that is there", () => {
	const gone = [...headings.keys()].flatMap((file) => {
		const prose = textOf(file)
			.replaceAll(/^( *)```.*\n[\s\S]*?^\1```$/gm, "")
			.replaceAll(/`[^`\n]*`/g, "");
		return [...prose.matchAll(/\]\((?!https?:)([^)\s#]*)#([^)\s]+)\)/g)]
			.map(([, page, heading]) => {
				const to = page ? normalize(join(dirname(file), page)) : file;
				return `${to}#${heading}`;
			})
			.filter((at) => !isThere(at))
			.map((at) => `${file}: ${at}`);
	});
	expect(gone).toEqual([]);
});

test("each address in code, the chart, examples and messages leads to a page and a heading that are there", () => {
	const kinds = "{ts,tsx,py,sh,yaml,yml,tpl,txt,json,conf,lua}";
	const files = [...find(`**/*.${kinds}`), "Makefile"];
	const named = files.flatMap((file) =>
		[
			// A heading stands behind `#`, or in quotes for people.
			...textOf(file).matchAll(
				/\bdocs\/[\w./-]+\.md(?:#([\w-]+)|,\s+(?:# )?\\?"([A-Z][^"\\]+))?/g,
			),
		].map(([match, slug, words]) => {
			const [page] = /^[^#,]*/.exec(match)!;
			const heading = slug ?? (words && githubSlug(words));
			return { file, at: heading ? `${page}#${heading}` : page };
		}),
	);
	expect(named.length).toBeGreaterThan(100);
	const gone = named.filter(({ at }) => !isThere(at));
	expect(gone).toEqual([]);
});

test("each address that people may have leads on", () => {
	const published = textOf("docs/.vitepress/published.txt")
		.trim()
		.split("\n")
		.flatMap((line) => {
			const [page, ...own] = line.split(" ");
			return [page!, ...own.map((heading) => `${page}#${heading}`)];
		});
	expect(published.length).toBeGreaterThan(600);
	const file = (at: string) =>
		`docs/${at.replace(/^[^#]+/, (page) => `${page}.md`)}`;
	const lost = published.filter((at) => !isThere(file(moved[at] ?? at)));
	expect(lost).toEqual([]);
	const idle = Object.keys(moved).filter((at) => isThere(file(at)));
	expect(idle).toEqual([]);
});

test("the README reads on at five pages, each once", () => {
	const section = textOf("README.md")
		.split(/^## /m)
		.find((part) => part.startsWith("Read on\n"))!;
	const lines = section.trim().split("\n").slice(2);
	const pages = lines.map((line) => /^- \[[^\]]+\]\((.+)\)$/.exec(line)?.[1]);
	expect(new Set(pages.filter((page) => page && isThere(page))).size).toBe(5);
	expect(pages).toHaveLength(5);
});

test("forty searches have a page and a heading that answer them, by words that people read", () => {
	expect(new Set(searches.map(([query]) => query)).size).toBeGreaterThanOrEqual(
		40,
	);
	const answers = searches.flatMap(([, ...places]) => places);
	const lost = answers.filter(
		(at) => !isThere(at.replace(/^[^#]+/, (page) => `docs/${page}.md`)),
	);
	expect(lost).toEqual([]);
	const hidden = [...headings.keys()].filter((file) =>
		/<\w[^>]*(\bhidden\b|display:\s*none)|^(keywords|search):/m.test(
			textOf(file),
		),
	);
	expect(hidden).toEqual([]);
});
