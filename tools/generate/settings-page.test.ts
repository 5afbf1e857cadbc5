import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { jobEnv } from "../../packages/contracts/job.ts";

const root = new URL("../..", import.meta.url).pathname;
const page = readFileSync(`${root}docs/reference/settings.md`, "utf8");
const code = globSync("{api,operator,ingest,packages}/**/*.ts", {
	cwd: root,
})
	.filter((file) => !file.endsWith(".test.ts"))
	.map((file) => readFileSync(`${root}${file}`, "utf8"))
	.join("\n");

/** The page's row of a variable. */
function rowOf(name: string): string | undefined {
	return page
		.split("\n")
		.find((line) => line.startsWith("|") && line.includes(`\`${name}\``));
}

test("docs/reference/settings.md lists exactly the variables that the code reads", () => {
	const read = code.matchAll(
		/\.(?:optional|text|integer|port|list|url|boolean|proxies)\(\s*"([A-Z]\w+)"|readAuthorities\(settings, "(\w+)"|process\.env\.(LOG_\w+)|\b(?:setting|env): "([A-Z]\w+)"/g,
	);
	const names = [...read].map(([, ...groups]) => groups.find(Boolean)!);
	const told = [...page.matchAll(/^\|.*$/gm)].flatMap(([line]) =>
		[...line.split("|")[1]!.matchAll(/`([A-Z]\w+)`/g)].map(([, name]) => name!),
	);
	expect(told.toSorted()).toEqual(
		[...new Set([...names, ...Object.values(jobEnv)])].toSorted(),
	);
});

const integers = [
	...code.matchAll(/\.integer\(\s*"(\w+)",\s*\[([^\]]*\][^)]*)\)/g),
	...code.matchAll(/\.port\(\s*"(\w+)",\s*([\d_]+)\)/g),
].map(([, name, bounds]) => [name!, bounds!] as const);

/** The bounds of every port and the smallest numbers, which the page may leave out. */
const obvious = ["0", "1", "65535"];

test.each(integers)(
	"the row of %s has its bounds and its default",
	(name, bounds) => {
		// A computed bound isn't a literal here, so this test can't check it.
		const numbers = bounds
			.split(/[,\]]/)
			.map((number) => number.trim().replaceAll("_", ""))
			.filter((number) => /^\d+$/.test(number) && !obvious.includes(number));
		for (const number of numbers)
			expect(rowOf(name)).toMatch(new RegExp(`\\b${number}\\b`));
	},
);
