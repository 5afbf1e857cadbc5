// In make test: test/documentation.test.ts
import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { searchOptions } from "../docs/.vitepress/search.ts";
import { walk } from "../docs/.vitepress/sidebar.ts";
import { commandsOf } from "../docs/.vitepress/theme/commands.ts";
import { consoleExamples } from "./support/examples/console-examples.ts";
import { documentedText } from "./support/examples/documented.ts";
import { searches } from "./support/site/searches.ts";

const root = join(import.meta.dirname, "..");
const dist = join(root, "docs/.vitepress/dist");

/** Each page's text by its address, such as `/tutorial`. */
const pages = new Map<string, string>();

beforeAll(async () => {
	await promisify(execFile)("make", ["site"], { cwd: root });
	for (const file of globSync("**/*.html", { cwd: dist }))
		pages.set(addressOf(file), readFileSync(join(dist, file), "utf8"));
});

test("every link of the site leads to a page, a heading or a file that is there", () => {
	expect(pages.size).toBeGreaterThan(60);
	const links = [...pages].flatMap(([page, text]) =>
		[...text.matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, link]) => ({
			page,
			to: new URL(link!.replaceAll("&amp;", "&"), `http://site${page}`),
		})),
	);
	const dead = links.filter(({ to }) => to.host === "site" && !isThere(to));
	expect(dead.map(({ page, to }) => [page, to.pathname + to.hash])).toEqual([]);
});

test("what the site leaves to GitHub is a file of the repository", () => {
	const files = [...pages.values()].flatMap((text) =>
		[...text.matchAll(/tidemill\/tidemill\/blob\/main\/([^"#]*)/g)].map(
			([, file]) => file!,
		),
	);
	const tracked = new Set(
		globSync("**", { cwd: root, exclude: ["**/node_modules", ".tidemill"] }),
	);
	expect(files.filter((file) => !tracked.has(file.replace(/\/$/, "")))).toEqual(
		[],
	);
});

test("the front page's resources are those of the quick start", () => {
	const shown = documentedText("docs/index.md yaml");
	const applied = globSync("examples/quickstart/*.yaml", { cwd: root }).map(
		(file) => parse(readFileSync(join(root, file), "utf8")),
	);
	const own = parseAllDocuments(shown).map((document) => document.toJS());
	expect(own).toHaveLength(3);
	expect(own).toEqual(expect.arrayContaining(applied));
});

test('the "next" links lead from the front page through all pages whose commands test/local-mode carries out', () => {
	const first = /class="VPButton [^"]*brand" href="\/([^"]*)"/;
	const next = /pager-link next" href="\/([^"]*)"/;
	const walked: string[] = [];
	for (
		let at = first.exec(pages.get("/")!)?.[1];
		at !== undefined;
		at = next.exec(pages.get(`/${at}`)!)?.[1]
	)
		walked.push(at);
	expect(walked.slice(0, walk.length)).toEqual(walk);
	for (const page of walk) {
		const blocks = pages
			.get(`/${page}`)!
			.matchAll(/<div class="language-console .*?<code>(.*?)<\/code>/gs);
		// As the copy button reads them in a browser.
		const copied = [...blocks].flatMap(([, html]) => commandsOf(textOf(html!)));
		expect(copied).toEqual(
			consoleExamples(readFileSync(join(root, `docs/${page}.md`), "utf8")).map(
				({ command }) => command,
			),
		);
	}
});

test.each(searches)(
	"the search for %s has a page and heading that answers it among the first three",
	async (query, ...answers) => {
		const found = (await searchIndex())
			.search(query)
			.slice(0, 3)
			.map(({ id }) => String(id).replace(/^\//, ""));
		// A page alone stands for each of its headings.
		const isAnswer = (at: string) =>
			answers.some((one) => at === one || at.split("#")[0] === one);
		expect(found.some(isAnswer), found.join(", ")).toBe(true);
	},
);

test("the copy button takes a block's commands, without prompts and without what they print", () => {
	expect(commandsOf("$ echo 1\n1\n$ echo '$ 2'\n$ 2\n")).toEqual([
		"echo 1",
		"echo '$ 2'",
		"2",
	]);
	const block =
		'$ url=$(kubectl get source)\n$ curl "$url"\n{"is_success":true}\n';
	expect(commandsOf(block)).toEqual([
		"url=$(kubectl get source)",
		'curl "$url"',
	]);
});

/** The index of the built site, as its search box opens it. */
async function searchIndex(): Promise<{
	search(query: string): { id: string }[];
}> {
	const [file] = globSync("assets/chunks/@localSearchIndexroot.*.js", {
		cwd: dist,
	});
	const { default: index } = await import(join(dist, file!));
	const { default: MiniSearch } = await import(
		join(root, "docs/node_modules/minisearch/dist/es/index.js")
	);
	return MiniSearch.loadJSON(index, {
		fields: ["title", "titles", "text"],
		storeFields: ["title", "titles"],
		searchOptions,
	});
}

/** An element's `textContent`, as a browser has it. */
function textOf(html: string): string {
	const entities: Record<string, string> = { lt: "<", gt: ">", amp: "&" };
	return html
		.replaceAll(/<[^>]*>/g, "")
		.replaceAll(/&#(x?)([0-9a-f]+);/gi, (_, hex, code) =>
			String.fromCodePoint(Number.parseInt(code, hex ? 16 : 10)),
		)
		.replaceAll(/&(quot|lt|gt|amp);/g, (_, name) => entities[name] ?? '"');
}

/** Links have no `.html`, and a folder's page is `index.html`. */
function addressOf(file: string): string {
	return `/${file.replace(/\.html$/, "").replace(/(^|\/)index$/, "$1")}`;
}

function isThere({ pathname, hash }: URL): boolean {
	const page = pages.get(decodeURI(pathname));
	if (page === undefined)
		return globSync(decodeURI(pathname).slice(1), { cwd: dist }).length > 0;
	const id = decodeURIComponent(hash.slice(1));
	return id === "" || page.includes(` id="${id}"`);
}
