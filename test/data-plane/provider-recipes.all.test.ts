// In make test: operator/pipeline/target.test.ts
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import type { Pipeline, Source } from "../../crds/generated/types.ts";
import { resolveTarget } from "../../operator/pipeline/target.ts";
import type { TableColumn } from "../../packages/contracts/job.ts";
import { Session } from "../../packages/duckdb/session.ts";
import { documented } from "../support/examples/documented.ts";
import {
	destinationOf,
	installation,
	pipelineOf,
	sourceOf,
} from "../support/examples/resource-examples.ts";
import {
	type PostgresServer,
	startPostgres,
} from "../support/servers/postgres.ts";

/* Steps 4 and 6 of each page of docs/senders, word for word: the columns of its Pipeline, and the query of its table. */

interface Recipe {
	name: string;
	source: Source["spec"];
	bodyColumns: NonNullable<Pipeline["spec"]["table"]["bodyColumns"]>;
	query: string;
}

const sources = documented("docs/senders/*.md yaml");
const recipes = globSync(join(import.meta.dirname, "../../docs/senders/*.md"))
	.toSorted()
	.map((page): Recipe => {
		const section = readFileSync(page, "utf8");
		const [, name = ""] = /^# (.*)$/m.exec(section)!;
		const step = (number: number) =>
			new RegExp(`^${number}\\. (.*)$`, "m").exec(section)![1]!;
		const columns = [
			...step(4).matchAll(/--body-column ([a-z_]+)=(\/[^\s`:]*)(?::(\w+))?/g),
		];
		const { text } = sources.find((piece) => page.endsWith(piece.page))!;
		return {
			name,
			source: parse(text).spec,
			bodyColumns: columns.map(([, name, bodyPointer, type]) => ({
				...{ name, bodyPointer },
				...(type && { type }),
			})) as Recipe["bodyColumns"],
			query: /tidemill sql -d warehouse "([^"]+)"/.exec(step(6))![1]!,
		};
	});

function columnsOf({ source, bodyColumns }: Recipe): TableColumn[] {
	const pipeline = pipelineOf();
	pipeline.spec.table.bodyColumns = bodyColumns;
	const given = sourceOf();
	given.spec = { ...given.spec, ...source };
	const references = { pipeline, source: given, destination: destinationOf() };
	const resolved = resolveTarget({ ...installation, ...references } as never);
	if ("problem" in resolved) throw new Error(resolved.problem.message);
	return resolved.target.columns;
}

/** Types that DuckDB and Postgres have by the same name. */
const sqlTypes: Record<string, string> = {
	Timestamp: "timestamptz",
	Date: "date",
	Integer: "bigint",
	Decimal: "numeric(38, 9)",
};

function statements(recipe: Recipe): [create: string, query: string] {
	const columns = columnsOf(recipe).map(({ name, from }) => {
		const type =
			typeof from === "string" ? from : "type" in from ? from.type : "String";
		return `"${name}" ${sqlTypes[type] ?? "text"}`;
	});
	const table = / from (\w+)/.exec(recipe.query)![1]!;
	return [`CREATE TABLE ${table} (${columns.join(", ")})`, recipe.query];
}

let postgres: PostgresServer;
beforeAll(async () => {
	postgres = await startPostgres();
});
afterAll(() => postgres?.stop());

test("each provider that a Source knows by name has its steps", () => {
	expect(recipes.map(({ name }) => name)).toEqual([
		...["GitHub", "Meta", "Shopify", "Slack"],
		...["Amazon SNS", "Stripe", "Svix", "Twilio"],
	]);
	for (const { bodyColumns } of recipes) expect(bodyColumns).not.toEqual([]);
});

test.each(recipes)(
	"the Pipeline and the query of $name are right in DuckDB and in Postgres",
	async (recipe) => {
		const [create, query] = statements(recipe);
		const { signal } = new AbortController();
		const session = await Session.inMemory({}, signal);
		try {
			await session.run(create);
			expect(await session.rows(query)).toEqual([]);
		} finally {
			session.close();
		}
		await postgres.rows(create);
		expect(await postgres.rows(query)).toEqual([]);
	},
);
