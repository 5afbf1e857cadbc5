import { expect, test } from "vitest";
import { type HouseFigure, isOnTarget, measureHouse } from "./measure.ts";

const contributing = `
**From \`spec.schedule\` to a Job**

1. \`charts/tidemill/files/crds/pipelines.yaml\`, then \`operator/pipeline/decide.ts\`, then \`operator/pipeline/decide.ts\` again.

**From a request's body to Parquet**

1. \`ingest/receive/main.ts\`

## Next
\`api/none.ts\`
`;

const figures = measureHouse(
	new Map([
		["crds/types.ts", "export interface Run {}\nexport type RunView = Run;\n"],
		["api/runs.ts", 'import "../crds/types.ts";\nexport type Run = 1;\n'],
		["operator/run.ts", 'import "../api/runs.ts";\nimport "../cli/x.ts";\n'],
		["cli/x.ts", "// Loads into BigQuery.\n".repeat(50)],
		[
			"packages/warehouses/types.ts",
			'export { definition as BigQuery } from "./bigquery/definition.ts";\n',
		],
		["console/page.tsx", "<p>\n\t1\n</p>\n"],
		["cli/x.test.ts", "// Not counted.\n"],
		["tools/bench/run.ts", "// Not counted.\n"],
		["vitest.config.ts", 'import "./cli/x.ts";\n'],
		["crds/generated/types.ts", "// Not counted.\n"],
	]),
	["crds", "api", "operator", "cli", "console", "kube"],
	contributing,
);
const figure = (name: string): HouseFigure =>
	figures.find((each) => each.name === name)!;

test.each([
	["product lines", 57],
	["lines of pages (.tsx) besides", 3],
	["lines a file", 11],
	["files under 40 lines", 4],
	["folders", 5],
	["arrows between folders of the root", 3],
	["imports that cross a border", 2],
	["files outside its folder that name a warehouse", 1],
	["exported types of one word", 2],
	["names of exported types that stand twice", 1],
	["files of the walk from `spec.schedule` to a job", 2],
	["files of the walk from a request's body to parquet", 1],
])("the house measures %s", (name, value) => {
	expect(figure(name).value).toBe(value);
});

test("a walk that nobody wrote misses its target", () => {
	expect(isOnTarget(figure("files of the walk that is missing: verdict"))).toBe(
		false,
	);
});

test("a figure at its target is on target", () => {
	const lines = { name: "lines a file", target: { atLeast: 125 } };
	expect(isOnTarget({ ...lines, value: 125 })).toBe(true);
	expect(isOnTarget({ ...lines, value: 124 })).toBe(false);
	const folders = { name: "folders", target: { atMost: 110 } };
	expect(isOnTarget({ ...folders, value: 110 })).toBe(true);
	expect(isOnTarget({ ...folders, value: 111 })).toBe(false);
});
