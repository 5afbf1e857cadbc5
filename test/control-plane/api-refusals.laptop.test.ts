import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
	type ApiClient,
	startAccountApi,
	type TestApi,
} from "../support/fixtures/control-plane/api-fixture.ts";

const duckDB = { type: "DuckDB", duckDB: { path: "a.duckdb" } };

let api: TestApi;
let editor: ApiClient;
let viewer: ApiClient;

beforeAll(async () => {
	({ api, editor, viewer } = await startAccountApi());
});

afterAll(() => api?.api.close());

describe("what is wrong", () => {
	test("is named all at once, by the paths of the request", async () => {
		const { status, body } = await editor("POST", "/v1/destinations", {
			name: "No Name",
			type: "DuckDb",
			bigQuery: { credentials: { key: 1 } },
			status: "Ready",
		});
		expect(status).toBe(400);
		expect(body.details.map(({ path }) => path).sort()).toEqual([
			"bigQuery.credentials.key",
			"bigQuery.dataset",
			"bigQuery.projectId",
			"name",
			"status",
			"type",
		]);
	});

	test("is said with what is right, an unknown field with the nearest name, and without any text that may be secret", async () => {
		const wrong = {
			type: "Postgres",
			postgres: {
				...{ host: "db", database: 5, sslMode: "full", port: 70_000 },
				...{ password: "hunter2", credentials: { secretRef: { name: "a" } } },
			},
			lables: {},
		};
		const said = [
			{
				path: "lables",
				message: 'is not a known field. Did you mean "labels"?',
			},
			{
				path: "postgres.database",
				message: "must be a string, not a whole number",
			},
			{ path: "postgres.password", message: "is not a known field" },
			{ path: "postgres.port", message: "must be at most 65535, not 70000" },
			{
				path: "postgres.sslMode",
				message: expect.stringMatching(/^must be one of .*, not "full"$/),
			},
		];
		await editor("POST", "/v1/destinations", { name: "said", ...duckDB });
		for (const [method, path] of [
			["POST", "/v1/destinations"],
			["POST", "/v1/destinations?dryRun=true"],
			["PATCH", "/v1/destinations/said"],
			["PUT", "/v1/destinations/said"],
		] as const) {
			const { status, body } = await editor(method, path, wrong);
			expect([status, sorted(body.details)]).toEqual([400, said]);
			expect(JSON.stringify(body)).not.toContain("hunter2");
		}
		const kept = await viewer("GET", "/v1/destinations/said");
		expect(kept.body).toMatchObject({ generation: 1, ...duckDB });
		const before = (await viewer("GET", "/v1/destinations")).body.items;
		expect(before.filter(({ name }) => name.startsWith("destination"))).toEqual(
			[],
		);
	});

	test("of a run is said, too", async () => {
		await editor("POST", "/v1/pipelines", {
			...{ name: "run-wrong", sourceRef: { name: "s" } },
			destinationRef: { name: "d" },
		});
		const path = "/v1/pipelines/run-wrong/run?queue=true";
		const wrong = { ful: true, dates: { start: "yesterday" } };
		const { status, body } = await editor("POST", path, wrong);
		expect([status, sorted(body.details)]).toEqual([
			400,
			[
				{ path: "dates.end", message: "is required" },
				{ path: "dates.start", message: "must be a date such as 2026-01-31" },
				{ path: "ful", message: 'is not a known field. Did you mean "full"?' },
			],
		]);
	});

	test("in more places than any spec has is refused at once", async () => {
		const many = Array.from({ length: 300_000 }, () => ({}));
		const { status, body } = await editor("POST", "/v1/pipelines", {
			...{ sourceRef: { name: "s" }, destinationRef: { name: "d" } },
			table: { bodyColumns: many },
		});
		expect([status, body.details]).toMatchObject([
			400,
			[{ path: "table.bodyColumns" }],
		]);
	});

	test("by a rule that only the apiserver validates is named with its path", async () => {
		const { status, body } = await editor("POST", "/v1/destinations", {
			type: "BigQuery",
			duckDB: { path: "../x" },
		});
		expect(status).toBe(400);
		expect(body.details).toEqual(
			expect.arrayContaining([
				{
					path: "bigQuery",
					message:
						"bigQuery is required for type BigQuery and not allowed otherwise; null in a merge patch removes it",
				},
				{
					path: "duckDB.path",
					message: expect.stringContaining("path must be relative"),
				},
			]),
		);
	});

	test("in a change is named and changes nothing", async () => {
		await editor("POST", "/v1/destinations", { name: "whole", ...duckDB });
		const byRule = await editor("PATCH", "/v1/destinations/whole", {
			duckDB: null,
		});
		expect(byRule.body.details).toMatchObject([{ path: "duckDB" }]);
		const bySchema = await editor("PATCH", "/v1/destinations/whole", {
			duckDB: { path: null },
		});
		expect(bySchema.body.details).toEqual([
			{ path: "duckDB.path", message: "is required" },
		]);
		expect((await viewer("GET", "/v1/destinations/whole")).body).toMatchObject(
			duckDB,
		);
	});

	test.each([[], "text", 1, null])("a body of %j is 400", async (body) => {
		for (const [method, path] of [
			["POST", "/v1/destinations"],
			["PATCH", "/v1/destinations/whole"],
		] as const)
			expect((await editor(method, path, body)).status).toBe(400);
	});
});

function sorted(details: { path: string; message: string }[]) {
	return details.sort((a, b) => a.path.localeCompare(b.path));
}

test("what only the operator could validate before is refused at once", async () => {
	const pipeline = { sourceRef: { name: "s" }, destinationRef: { name: "d" } };
	const made = await editor("POST", "/v1/pipelines", {
		name: "validated",
		...pipeline,
	});
	expect(made.status).toBe(201);
	const schedule = {
		type: "Cron",
		cron: "61 * * * *",
		timeZone: "Mars/Phobos",
	};
	const expected = ["schedule.cron", "schedule.timeZone"];
	for (const { status, body } of [
		await editor("POST", "/v1/pipelines", { ...pipeline, schedule }),
		await editor("PATCH", "/v1/pipelines/validated", { schedule }),
	]) {
		expect(status).toBe(400);
		expect(body.details.map(({ path }) => path).sort()).toEqual(expected);
	}
	const five = { ...pipeline, schedule: { type: "Cron", cron: "0 0 6 * * *" } };
	const plan = (schema: object) => ({
		eventType: { constant: "order" },
		events: [{ type: "order", schema }],
	});
	const known = { name: "validated", ...plan({ type: "object" }) };
	expect((await editor("POST", "/v1/tracking-plans", known)).status).toBe(201);
	const objekt = plan({ properties: { id: { type: "objekt" } } });
	const typed = ["events[0].schema.properties.id.type"];
	const dry = "?dryRun=true";
	for (const [method, path, wrong, paths] of [
		["POST", "/v1/pipelines", five, ["schedule.cron"]],
		["POST", "/v1/tracking-plans", objekt, typed],
		["PUT", "/v1/tracking-plans/validated", objekt, typed],
		["PATCH", "/v1/tracking-plans/validated", { events: objekt.events }, typed],
	] as const)
		for (const query of method === "PUT" ? [""] : ["", dry]) {
			const { status, body } = await editor(method, path + query, wrong);
			expect([status, body.details?.map(({ path }) => path)]).toEqual([
				400,
				paths,
			]);
		}
	const key = await editor("POST", "/v1/destinations?dryRun=true", {
		type: "BigQuery",
		bigQuery: {
			projectId: "project-1",
			dataset: "events",
			credentials: { key: "no JSON" },
		},
	});
	expect(key.body.details).toEqual([
		{
			path: "bigQuery.credentials.key",
			message: "must be the JSON key of a Google service account, as a string",
		},
	]);
});

test("a query parameter that an operation doesn't have is refused by name", async () => {
	for (const path of [
		"/v1/destinations?state=Ready",
		"/v1/destinations/any?state=Ready",
		"/v1/runs/any?wait=1s&wait=2s&state=Ready",
	]) {
		const { status, body } = await viewer("GET", path);
		expect(status).toBe(400);
		expect(body.details.at(-1)).toMatchObject({ path: "state" });
	}
});
