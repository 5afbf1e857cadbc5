import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { topOf } from "./import-graph.ts";
import { isOnTarget, measureHouse } from "./measure.ts";
import { wordsOfPages } from "./pages.ts";

/** `make house`: prints the figures beside their targets. It informs and never fails. */
const tracked = execFileSync("git", ["ls-files", "--cached", "-z"], {
	encoding: "utf8",
	maxBuffer: 1 << 26,
})
	.split("\0")
	.filter(Boolean);
const files = new Map(
	tracked
		.filter((path) => /\.tsx?$/.test(path))
		.map((path) => [path, readFileSync(path, "utf8")]),
);
const folders = new Set(
	tracked
		.filter((path) => path.includes("/") && !path.startsWith("."))
		.map(topOf),
);
const pages = new Map(
	tracked
		.filter((path) => path.endsWith(".md"))
		.map((path) => [path, readFileSync(path, "utf8")]),
);
const figures = [
	...measureHouse(files, [...folders], pages.get("CONTRIBUTING.md")!),
	wordsOfPages(pages),
];
for (const figure of figures) {
	const { name, value, target } = figure;
	const goal =
		target === undefined
			? ""
			: "atLeast" in target
				? `≥ ${target.atLeast}`
				: `≤ ${target.atMost}`;
	const mark = isOnTarget(figure) ? " " : "!";
	console.log(
		`${mark} ${String(value).padStart(8)}  ${goal.padEnd(10)} ${name}`,
	);
}
