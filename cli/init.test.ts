import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { providers } from "../packages/contracts/providers.ts";
import { validateSpec } from "../test/support/manifests/spec-validator.ts";
import { answersOf, type InitAnswers, manifestsOf } from "./init.ts";

/** Answers in turn, an empty one for what isn't said. */
async function told(...answers: string[]) {
	const [asked, mistakes]: [string[], string[]] = [[], []];
	const found = await answersOf(
		async (question) => {
			asked.push(question);
			return answers.shift() ?? "";
		},
		(mistake) => mistakes.push(mistake),
	);
	return { found, asked, mistakes };
}

test("five questions, each with an answer for who only presses Enter", async () => {
	const { found, asked } = await told();
	expect(asked).toHaveLength(5);
	expect(found).toEqual({
		...{ provider: "stripe", source: "stripe", table: "stripe" },
		...{ warehouse: "warehouse.duckdb", schedule: "15m" },
	});
});

test("a mistake is told, and the question asked again", async () => {
	const { found, mistakes } = await told(
		...["githb", "github", "Git Hub", "git-hub", "acme", "acme.events"],
		...["1", "", "25:00", "15", "6:30"],
	);
	expect(mistakes.map((mistake) => mistake.split(/[.,]/)[0])).toEqual([
		'there is no provider "githb"',
		"A name has at most 40 lower-case letters",
		expect.stringContaining('--bigquery is "acme"'),
		"A table's name has only letters",
		expect.stringContaining('"25:00"'),
		expect.stringContaining('"15"'),
	]);
	expect(found).toEqual({
		...{ provider: "github", source: "git-hub", table: "git_hub" },
		...{ warehouse: "acme.events", schedule: "6:30" },
	});
});

test.each(Object.keys(providers))(
	"the YAML for %s is what the cluster takes",
	async (provider) => {
		const { found } = await told(provider, "mine");
		const objects = await valid(found);
		expect(objects.map(({ kind }) => kind)).toEqual([
			...(providers[provider]!.eventType ? ["TrackingPlan"] : []),
			...["Source", "Destination", "Pipeline"],
		]);
		expect(objects.at(-1).spec).toEqual({
			sourceRef: { name: "mine" },
			destinationRef: { name: "warehouse" },
			table: { name: "mine" },
			schedule: { type: "Interval", interval: "15m" },
		});
	},
);

test.each([
	["warehouse.duckdb", "DuckDB"],
	["acme-data.events", "BigQuery"],
	["https://ch.example.com:8443/analytics", "ClickHouse"],
	["postgres://db.example.com/analytics", "Postgres"],
])("a table may go to %s, which is %s", async (warehouse, type) => {
	const { found, mistakes } = await told("stripe", "mine", warehouse);
	expect(mistakes).toEqual([]);
	const objects = await valid(found);
	const destination = objects.find(({ kind }) => kind === "Destination");
	expect(destination.spec.type).toBe(type);
});

test("an answer that names no warehouse is told what does", async () => {
	const { mistakes } = await told("stripe", "mine", "a/b", "a.duckdb");
	expect(mistakes[0]).toContain('"a/b" is none of these: a project');
});

/** The objects of the YAML, which a cluster takes. */
async function valid(answers: InitAnswers) {
	const objects = parseAllDocuments(await manifestsOf(answers)).map((each) =>
		each.toJS(),
	);
	const errors = objects.flatMap(({ kind, spec }) => validateSpec(kind, spec));
	expect(errors).toEqual([]);
	return objects;
}
