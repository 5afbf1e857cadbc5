import { expect, test } from "vitest";
import type { LoadInput, TableColumn } from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { bigQueryFixture } from "../support/fixtures/data-plane/bigquery-fixture.ts";
import { columns } from "../support/fixtures/data-plane/load-fixture.ts";

const first = "2026-03-01";

const ofTypes = (
	[
		"Integer",
		"Number",
		"Boolean",
		"String",
		"JSON",
		"Timestamp",
		"Date",
	] as const
).map(
	(type) =>
		({
			name: `a_${type.toLowerCase()}`,
			from: { bodyPointer: `/${type}`, type },
		}) as TableColumn,
);
const price: TableColumn = {
	name: "price",
	from: { bodyPointer: "/price", type: "Decimal", precision: 38, scale: 20 },
};

const input: Partial<LoadInput> = {
	table: {
		name: "orders",
		columns: [...columns, ...ofTypes, price],
		description: "",
		options: { bodyType: "JSON" },
	},
	rejectedTable: { name: "orders_rejected", description: "" },
};

const bodies: [what: string, json: string, fits: boolean][] = [
	["an object over lines", '{\r\n\t"a": [1, "\\u00e9\\n"],\n"b": 1.50}', true],
	["NUL", '{"a":"\\u0000"}', true],
	["half a pair", '"\\ud800"', false],
	["the other half", '{"\\udc00x":1}', false],
	["a pair", '"\\ud83d\\ude00"', true],
	["the largest number", "18446744073709551615", true],
	["a larger one", "[18446744073709551616]", false],
	["the least number", "-9223372036854775808", true],
	["a lesser one", "-9223372036854775809", false],
	["many digits", '{"a":0.12345678901234567891}', false],
	["many digits in a string", '{"a":"0.12345678901234567891"}', true],
	["beyond a double", "1e400", false],
	["with an exponent", '{"a":1.5e10}', true],
	["deep", `${"[".repeat(500)}${"]".repeat(500)}`, true],
	[
		"too deep beside closed ones",
		`${"[[],".repeat(501)}1${"]".repeat(501)}`,
		false,
	],
	["many, but not deep", `[${"[],".repeat(600)}1]`, true],
	["too deep", `${"[".repeat(501)}${"]".repeat(501)}`, false],
];

const events = bodies.map(([, body], index) => ({
	event_id: `e${String(index).padStart(2, "0")}`,
	timestampMs: Date.parse(first) + index,
	body,
}));

test("a body is JSON by choice; what BigQuery's JSON can't hold is NULL, counted and written down", async () => {
	const { load, manifest, rows, double } = await bigQueryFixture();
	const days = await manifest({ [first]: [events] });
	const end = await load(days, { input });
	expect(end.exitCode, end.log).toBe(0);
	expect(
		double.warehouse
			.find({
				projectId: double.projectId,
				datasetId: "shop",
				tableId: "orders",
			})
			?.schema?.fields?.find(({ name }) => name === "body"),
	).toMatchObject({ type: "JSON" });
	const found = await rows(
		"SELECT body::VARCHAR FROM shop.orders ORDER BY event_id",
	);
	expect(found.map(([body], at) => [bodies[at]![0], body !== null])).toEqual(
		bodies.map(([what, , fits]) => [what, fits]),
	);
	expect(JSON.parse(String(found[0]![0]))).toEqual(JSON.parse(bodies[0]![1]));
	const unfit = bodies.filter(([, , fits]) => !fits).length;
	const unfitBodies = expect.objectContaining({
		column: "body",
		rows: unfit,
		values: bodies.length,
	});
	expect(end.result).toMatchObject({ unfitValues: [unfitBodies] });
	expect(
		await rows(
			"SELECT event_id FROM shop.orders_rejected WHERE column_name = 'body' ORDER BY event_id",
		),
	).toEqual(
		events.filter((_, at) => !bodies[at]![2]).map(({ event_id }) => [event_id]),
	);
	// A repeat counts the same, though its jobs are done.
	const again = await load(days, { input });
	expect(again.result).toMatchObject({ unfitValues: [unfitBodies] });
});

test.each([
	["one table", {}],
	[
		"a table for each type",
		{
			eventTypes: {
				place: { bodyPointer: "/type" },
				tables: [{ type: "paid", table: "orders_paid" }],
				other: "orders_other",
				free: 0,
			},
		},
	],
] satisfies [string, Partial<LoadInput>][])(
	"with %s, a body that JSON can't hold is counted once, though a load job failed and another was started",
	async (_, tables) => {
		const { load, manifest, double } = await bigQueryFixture();
		const days = await manifest({
			[first]: [
				["1e400", "1e500", "1"].map((number, index) => ({
					event_id: `e${index}`,
					timestampMs: Date.parse(first) + index,
					body: `{"type":"paid","n":${number}}`,
				})),
			],
		});
		double.jobs.failNext("backendError", "Try again");
		const { options, name, description } = input.table!;
		const table = { name, description, options: options!, columns };
		const end = await load(days, { input: { table, ...tables } });
		expect(end.exitCode, end.log).toBe(0);
		const failed = double.jobs
			.all()
			.filter(({ status }) => status?.errorResult);
		expect(failed).toHaveLength(1);
		expect(end.result).toMatchObject({
			unfitValues: [{ column: "body", rows: 2, values: 3 }],
		});
	},
);

test("beside a body of JSON, every other value is the one that a table with a body of text has", async () => {
	const { load, manifest, rows } = await bigQueryFixture();
	const body = {
		Number: 1.25e-7,
		Boolean: false,
		String: 'Käse "\\\n\u0001',
		JSON: { a: [null, "\u2028"] },
		Timestamp: "2026-03-01T12:00:00.123456+02:00",
		Date: "0031-12-24",
		price: "123456789.01234567890123456789",
	};
	const text = `{"Integer":9223372036854775807,${JSON.stringify(body).slice(1)}`;
	const days = await manifest({
		[first]: [
			[
				{ event_id: "a", timestampMs: Date.parse(first) + 1, body: text },
				{ event_id: "b", timestampMs: Date.parse(first), body: "{}" },
			],
		],
	});
	const found: unknown[] = [];
	for (const bodyType of ["STRING", "JSON"]) {
		const name = `orders_${bodyType.toLowerCase()}`;
		const table = { ...input.table!, name, options: { bodyType } };
		const end = await load(
			{ ...days, run: crypto.randomUUID() },
			{ input: { table } },
		);
		expect(end.exitCode, end.log).toBe(0);
		found.push(
			await rows(
				`SELECT * EXCLUDE (body), a_integer::VARCHAR, price::VARCHAR FROM shop.${name} ORDER BY event_id`,
			),
		);
	}
	const [strings, json] = found;
	expect(strings).toHaveLength(2);
	expect(json).toEqual(strings);
});

test("a full reload without events empties a table with a body of JSON", async () => {
	const { load, manifest, rows } = await bigQueryFixture();
	const reload: Partial<LoadInput> = {
		strategy: "FullReload",
		table: {
			...input.table!,
			columns: columns.filter(({ from }) => from !== "Date"),
		},
	};
	const counts: unknown[] = [];
	for (const events of [
		[{ event_id: "a", timestampMs: Date.parse(first), body: "[1]" }],
		[],
	]) {
		const days: Manifest = await manifest({
			[first]: events.length > 0 ? [events] : [],
		});
		const end = await load(days, { input: reload });
		expect(end.exitCode, end.log).toBe(0);
		counts.push(await rows("SELECT body::VARCHAR FROM shop.orders"));
	}
	expect(counts).toEqual([[["[1]"]], []]);
});

test("an Erase finds a string in a body of JSON, and blanks a body", async () => {
	const { load, manifest, rows } = await bigQueryFixture();
	const second = "2026-03-02";
	const of = (date: string, id: string, body: object) => ({
		event_id: id,
		timestampMs: Date.parse(date),
		body: JSON.stringify(body),
	});
	const whole = await manifest({
		[first]: [
			[
				of(first, "hers", { "a/b": ["hers@shop"] }),
				of(first, "number", { "a/b": [5] }),
				of(first, "his", { "a/b": ["his@shop"] }),
			],
		],
		[second]: [[of(second, "later", { "a/b": ["hers@shop"] })]],
	});
	const { table } = input;
	const loaded = async (manifest: Manifest) => {
		const end = await load(manifest, { input: { table: table! } });
		expect(end.exitCode, end.log).toBe(0);
	};
	await loaded(whole);
	const before = second;
	const bodyPointer = "/a~1b/0";
	await loaded({
		...whole,
		run: crypto.randomUUID(),
		asked: { extent: "Chosen" },
		dates: whole.dates.slice(1),
		erasures: {
			asked: 1,
			others: [
				{ mode: "RemoveRow", before, match: { bodyPointer, equals: "5" } },
				{
					mode: "RemoveRow",
					before,
					match: { bodyPointer, equals: "hers@shop" },
				},
				{ mode: "BlankBody", before, eventIDs: ["his"] },
			],
		},
	});
	expect(
		await rows(
			"SELECT event_id, body::VARCHAR FROM shop.orders ORDER BY event_id",
		),
	).toEqual([
		["his", "null"],
		["later", '{"a/b":["hers@shop"]}'],
		["number", '{"a/b":[5]}'],
	]);
});
