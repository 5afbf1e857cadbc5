import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { PipelineFilter } from "../../crds/generated/types.ts";
import { filterOf } from "../../operator/pipeline/filter.ts";
import type {
	EventFilter,
	LoadInput,
	TableColumn,
} from "../../packages/contracts/job.ts";
import type { ObjectEvent } from "../support/examples/parquet-object.ts";
import { pipelineOf, sourceOf } from "../support/examples/resource-examples.ts";
import {
	columns,
	eventsOf,
	type LoadFixture,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";

/* What a Pipeline's filter takes. That each type of warehouse keeps to it is in test/data-plane/warehouses/conformance-cases.ts. */

const date = "2026-03-01";

/** An event for each body, with what its index has in the lists. */
function eventsWith(
	bodies: readonly string[],
	more: (index: number) => Partial<ObjectEvent> = () => ({}),
): ObjectEvent[] {
	return eventsOf(date, bodies.length, "a").map((event, index) => ({
		...event,
		body: bodies[index]!,
		...more(index),
	}));
}

/** The bodies in the table, in the order of the events. */
async function bodiesIn(fixture: LoadFixture, table = "orders") {
	const rows = await fixture.rows(
		`SELECT body FROM ${table} ORDER BY timestamp`,
	);
	return rows.map(([body]) => body);
}

async function loadedBy(
	fixture: LoadFixture,
	events: ObjectEvent[],
	input: Partial<LoadInput>,
) {
	const manifest = await fixture.manifest({ [date]: [events] });
	const end = await fixture.load(manifest, { input });
	expect(end.exitCode, end.log).toBe(0);
	return end.result;
}

test.each<[string, EventFilter, string[]]>([
	[
		"a string, exactly",
		{ match: { bodyPointer: "/a", equals: "x" } },
		['{"a":"x"}', '{"a":"\\u0078"}', '{"b":1,"a":"x"}', '{"a":"y","a":"x"}'],
	],
	[
		"a number as it is written, or a string of its digits",
		{ match: { bodyPointer: "/a", equals: "1.0" } },
		['{"a":1.0}', '{"a":"1.0"}'],
	],
	[
		"a boolean",
		{ match: { bodyPointer: "/a", equals: "true" } },
		['{"a":true}'],
	],
	[
		"an empty string",
		{ match: { bodyPointer: "/a", equals: "" } },
		['{"a":""}'],
	],
	[
		"a text with what SQL and JSON quote",
		{ match: { bodyPointer: "/a'\"~1", equals: `'"\\Ä` } },
		[JSON.stringify({ "a'\"/": `'"\\Ä` })],
	],
	[
		"types in the body",
		{ types: { oneOf: ["x", "y"], place: { bodyPointer: "/a" } } },
		[
			'{"a":"x"}',
			'{"a":"\\u0078"}',
			'{"b":1,"a":"x"}',
			'{"a":"y","a":"x"}',
			'{"a":"y"}',
		],
	],
	[
		"a type and a member",
		{
			types: { oneOf: ["x", "y"], place: { bodyPointer: "/a" } },
			match: { bodyPointer: "/b", equals: "1" },
		},
		['{"b":1,"a":"x"}'],
	],
])("a filter takes %s", async (_, filter, expected) => {
	const bodies = [
		...['{"a":"x"}', '{"a":"\\u0078"}', '{"b":1,"a":"x"}', '{"a":"y","a":"x"}'],
		...['{"a":"y"}', '{"a":" x"}', '{"a":"X"}', '{"a":["x"]}', '{"x":"a"}'],
		...['{"a":1.0}', '{"a":"1.0"}', '{"a":1}', '{"a":true}', '{"a":null}'],
		...['{"a":""}', "{}", "[]", '"x"', "null", '{"a":"\\ud83c"}'],
		JSON.stringify({ "a'\"/": `'"\\Ä` }),
	];
	const fixture = await loadFixture();
	const result = await loadedBy(fixture, eventsWith(bodies), { filter });
	expect(await bodiesIn(fixture)).toEqual(expected);
	expect(result).toMatchObject({ rows: expected.length });
});

test("a type in a header is the captured one, or else the one that a plan has recorded", async () => {
	const recorded = (type: string) =>
		JSON.stringify({ plan: "p", version: "1", type });
	const fields: Partial<ObjectEvent>[] = [
		{ headers: { "x-topic": "paid" } },
		{ headers: { "x-topic": "lost" }, violations: recorded("paid") },
		{ violations: recorded("paid") },
		{ violations: recorded("lost") },
		{ violations: JSON.stringify({ plan: "p", version: "1" }) },
		{ headers: { "x-other": "paid" } },
		{ headers: { "x-topic": "paid", "x-odd": "\ud83c" } },
		{},
	];
	const events = eventsWith(
		fields.map((_, index) => String(index)),
		(index) => fields[index]!,
	);
	const fixture = await loadFixture();
	const types = { oneOf: ["paid"], place: { header: "x-topic" } };
	await loadedBy(fixture, events, { filter: { types } });
	expect(await bodiesIn(fixture)).toEqual(["0", "2", "6"]);
});

test("the table of events in quarantine has those of the filter, and both count", async () => {
	const fixture = await loadFixture();
	const own = await fixture.manifest({
		[date]: [eventsWith(['{"a":"x"}', '{"a":"y"}'])],
	});
	const held = await fixture.manifest({
		[date]: [eventsWith(['{"a":"x"}', '{"a":"z"}', '{"a":"x","b":1}'])],
	});
	const [{ rows, objects }] = held.dates as [(typeof held.dates)[0]];
	const manifest = {
		...own,
		dates: own.dates.map((day) => ({ ...day, quarantine: { rows, objects } })),
	};
	const apart: TableColumn[] = [
		...columns,
		{ name: "violations", from: "Violations" },
	];
	const input: Partial<LoadInput> = {
		filter: { match: { bodyPointer: "/a", equals: "x" } },
		quarantineTable: { name: "apart", columns: apart, description: "" },
	};
	for (const adds of [false, true]) {
		const end = await fixture.load(
			{ ...manifest, run: crypto.randomUUID() },
			{ input: { ...input, ...(adds && { adds }) } },
		);
		expect(end.exitCode, end.log).toBe(0);
		expect(end.result).toMatchObject({
			rows: 1,
			quarantinedRows: 2,
			...(adds && { addedRows: 0, unchangedDates: 1 }),
		});
		expect(await bodiesIn(fixture)).toEqual(['{"a":"x"}']);
		expect(await bodiesIn(fixture, "apart")).toEqual([
			'{"a":"x"}',
			'{"a":"x","b":1}',
		]);
	}
});

test("the filter sees what was sent, also what the tracking plan leaves out of the table", async () => {
	const fixture = await loadFixture();
	const violations = JSON.stringify({ plan: "p", version: "1", omit: ["/a"] });
	const events = eventsWith(['{"a":"x","b":1}', '{"a":"y","b":2}'], () => ({
		violations,
	}));
	const filter = { match: { bodyPointer: "/a", equals: "x" } };
	await loadedBy(fixture, events, { filter });
	expect(await bodiesIn(fixture)).toEqual(['{"b":1}']);
});

test("on a date of which events were erased, those of the filter count", async () => {
	const fixture = await loadFixture();
	const events = eventsWith([
		...['{"a":"x"}', "null", '{"a":"x","b":1}', '{"a":"y"}'],
	]);
	const manifest = await fixture.manifest({ [date]: [events] });
	const [day] = manifest.dates;
	const end = await fixture.load(
		{
			...manifest,
			erasures: { asked: 1, isUnderWay: true, others: [] },
			dates: [{ ...day!, erased: { by: ["erasure-1"], rows: 1 } }],
		},
		{ input: { filter: { match: { bodyPointer: "/a", equals: "x" } } } },
	);
	expect(end.exitCode, end.log).toBe(0);
	expect(end.result).toMatchObject({ rows: 2 });
});

test("two Pipelines of the example load one Source into two tables", async () => {
	const file = join(
		import.meta.dirname,
		"../../examples/filter/pipelines.yaml",
	);
	const specs = parseAllDocuments(await readFile(file, "utf8")).map(
		(each) => each.toJS() as { spec: { filter: PipelineFilter } },
	);
	const fixture = await loadFixture();
	const events = eventsWith([
		'{"type":"order.created","order":1}',
		'{"type":"refund","refund":{"status":"open"}}',
		'{"type":"order.paid","order":1}',
		'{"type":"refund","refund":{"status":"paid"}}',
		'{"type":"visit"}',
	]);
	const manifest = await fixture.manifest({ [date]: [events] });
	for (const [index, { spec }] of specs.entries()) {
		const found = filterOf({
			pipeline: pipelineOf({ filter: spec.filter }),
			source: sourceOf(),
			trackingPlan: undefined,
		});
		if ("problem" in found) throw new Error(found.problem);
		const uid = crypto.randomUUID();
		const end = await fixture.load(
			{ ...manifest, run: uid },
			{
				input: {
					run: { name: "r", uid, account: "shop", pipeline: `p${index}` },
					table: { name: `table_${index}`, columns, description: "" },
					...(found.filter && { filter: found.filter }),
				},
			},
		);
		expect(end.exitCode, end.log).toBe(0);
	}
	expect(await bodiesIn(fixture, "table_0")).toEqual([
		'{"type":"order.created","order":1}',
		'{"type":"order.paid","order":1}',
	]);
	expect(await bodiesIn(fixture, "table_1")).toEqual([
		'{"type":"refund","refund":{"status":"paid"}}',
	]);
});

test("the table of rejected values has those of the filter's events alone", async () => {
	const fixture = await loadFixture();
	const events = eventsWith([
		...['{"a":"x","n":1}', '{"a":"x","n":"many"}', '{"a":"y","n":"none"}'],
	]);
	const result = await loadedBy(fixture, events, {
		filter: { match: { bodyPointer: "/a", equals: "x" } },
		table: {
			name: "orders",
			columns: [
				...columns,
				{ name: "n", from: { bodyPointer: "/n", type: "Integer" } },
			],
			description: "",
		},
		rejectedTable: { name: "orders_rejected", description: "" },
	});
	expect(result).toMatchObject({
		rows: 2,
		unfitValues: [{ column: "n", rows: 1, values: 2 }],
	});
	expect(
		await fixture.rows("SELECT event_id, value FROM orders_rejected"),
	).toEqual([[events[1]!.event_id, '"many"']]);
});
