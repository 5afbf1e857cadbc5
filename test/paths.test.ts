import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const folders = readdirSync(root, { withFileTypes: true })
	.filter((each) => each.isDirectory() && /^[a-z]/.test(each.name))
	.map(({ name }) => name)
	.join("|");
/** A file or, with a slash at its end, a folder, as it stands from the root. */
const path = RegExp(
	String.raw`(?<![\w./@:~<>*}-])(?:${folders})/(?:[\w.-]+/)*(?:[\w.-]+\.[a-z]{2,4}\b|(?<=/))(?![\w{}*<>…-])`,
	"g",
);
/** A file of the code, perhaps without the folders before it. */
const code =
	/(?<![\w./@:~<>*}-])(?:[\w.-]+\/)*[\w.-]+\.tsx?\b(?![\w{}*<>…/-])/g;
const decision = /(?<=\bdocs\/)decisions\/\d{4}\b(?!-)/g;
const exclude = ["**/{node_modules,dist,generated}/**", ".tidemill/**"];
const comments: [ending: string, comment: RegExp][] = [
	["{ts,tsx}", /^\s*\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm],
	["yaml", /(?<=^|\s)#.*$/gm],
];
const decisions = globSync("docs/decisions/*.md", { cwd: root }).sort();

test("each path in a comment, in CONTRIBUTING.md and in a decision is there", () => {
	const inComments = comments.flatMap(([ending, comment]) =>
		globSync(`**/*.${ending}`, {
			cwd: root,
			exclude,
		}).map((file): [string, string] => {
			const found = textOf(file).match(comment) ?? [];
			return [file, found.join("\n")];
		}),
	);
	const pages = ["CONTRIBUTING.md", ...decisions].map(
		(file): [string, string] => [file, textOf(file)],
	);
	const ends = new Set(
		globSync("**/*.{ts,tsx}", { cwd: root, exclude }).flatMap(endsOf),
	);
	const gone = [...inComments, ...pages].flatMap(([file, text]) => [
		...(text.match(path) ?? [])
			.filter((one) => !isThere(one))
			.map((one) => `${file} names ${one}`),
		...(text.match(code) ?? [])
			.map((one) => one.replace(/^(\.{1,2}\/)+/, ""))
			.filter((one) => !ends.has(one) && !isThere(one))
			.map((one) => `${file} names ${one}`),
		...(text.match(decision) ?? [])
			.filter((one) => !decisions.some((each) => each.includes(`${one}-`)))
			.map((one) => `${file} names docs/${one}`),
	]);
	expect([...new Set(gone)]).toEqual([]);
});

test("no number of a decision stands twice, and its title has it", () => {
	const numbers = decisions.map((file) => Number(file.match(/\d{4}/)![0]));
	expect(numbers.filter((one, i) => numbers.indexOf(one) !== i)).toEqual([]);
	const titled = decisions.map((file) => parseInt(textOf(file).slice(2), 10));
	expect(titled).toEqual(numbers);
});

/** Of what code reads beside itself or elsewhere in the repository: as texts from its own folder on. */
const ownPath =
	/import\.meta\.dirname,\s*((?:"[^"*]+",?\s*)+)\)|new URL\(\s*("\.[^"*]+"),\s*import\.meta\.url/g;

/** Programs make these when they first need them. */
const isMade = /(^|\/)(dist|generated|\.tidemill|\.compile-cache)(\/|$)/;

test("each path from a file's own folder is there", () => {
	const gone = globSync("**/*.{ts,tsx}", { cwd: root, exclude }).flatMap(
		(file) =>
			[...textOf(file).matchAll(ownPath)]
				.map(([, names, url]) => (names ?? url)!.match(/(?<=")[^",]+(?=")/g)!)
				.map((names) => join(dirname(file), ...names))
				.filter((one) => !isMade.test(one) && !isThere(one))
				.map((one) => `${file} reads ${one}`),
	);
	expect(gone).toEqual([]);
});

/** The path, and each shorter one that a reader finds it by. */
function endsOf(file: string): string[] {
	const names = file.split("/");
	return names.map((_, i) => names.slice(i).join("/"));
}

function textOf(file: string): string {
	return readFileSync(join(root, file), "utf8");
}

/** What is generated may not be written yet. */
function isThere(one: string): boolean {
	return one.includes("/generated/") || existsSync(join(root, one));
}
