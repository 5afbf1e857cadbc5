import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type {
	EventFilter,
	LoadInput,
} from "../../../packages/contracts/job.ts";
import type {
	Manifest,
	ManifestObject,
} from "../../../packages/contracts/manifest.ts";
import { parquetRows, quoteText } from "../../../packages/duckdb/quoting.ts";
import { Session } from "../../../packages/duckdb/session.ts";
import type { DayObject } from "../../../packages/warehouses/load/load-day.ts";
import { TableChanged } from "../../../packages/warehouses/load/warehouse.ts";
import { stepsOf } from "../wanted-tables.ts";
import { carryOutSteps } from "./carry-out.ts";
import type { DateAddition } from "./step.ts";

let directory: string;
let session: Session;
beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "steps-"));
	session = await Session.inMemory(
		{ preserve_insertion_order: "false" },
		new AbortController().signal,
	);
});
afterAll(async () => {
	session.close();
	await rm(directory, { recursive: true });
});

const date = "2026-03-01";
let files = 0;

interface StoredEvent {
	id: string;
	kind?: string;
	body?: string;
	violations?: string;
}

/** An object of events, or of ids alone. */
async function objectOf(
	...events: (string | StoredEvent)[]
): Promise<DayObject> {
	const file = join(directory, `${files++}.parquet`);
	const rows = events
		.map((event) => (typeof event === "string" ? { id: event } : event))
		.map(({ id, kind = "Json", body = "{}", violations = "" }) =>
			[id, kind, body, violations, ""].map(quoteText).join(", "),
		);
	await session.run(
		`COPY (SELECT * FROM (VALUES ${rows.map((row) => `(${row})`).join(", ")}) AS t(event_id, kind, body, violations, headers)) TO ${quoteText(file)} (FORMAT parquet)`,
	);
	const key = `events/${files}`;
	return { key, url: "", rows: events.length, bytes: 1, bodyBytes: 90, file };
}

const table = { name: "orders", columns: [], description: "" };
const filter = { match: { bodyPointer: "/kind", equals: "order" } };

interface Words {
	erasures?: Manifest["erasures"];
	earlier?: ManifestObject[];
	/** The table is that of the quarantine. */
	released?: ManifestObject[];
	filter?: EventFilter;
}

function stepsFor({ erasures, released, filter, ...words }: Words) {
	const objects = (released ?? []).map((object) => ({
		...object,
		released: true as const,
	}));
	return stepsOf({
		date: { date, rows: 0, objects, ...words },
		isBeside: released !== undefined,
		manifest: { ...(erasures && { erasures }) } as Manifest,
		input: { table, ...(filter && { filter }) } as unknown as LoadInput,
	});
}

/** What the steps of these words do with objects whose files are on disk. */
function carryOut(
	words: Words,
	objects: DayObject[],
	without: DayObject[] = [],
) {
	const plan = {
		addition:
			without.length > 0 ? ({ without } as unknown as DateAddition) : undefined,
		files: (_: string, objects: readonly ManifestObject[]) =>
			objects as DayObject[],
	};
	const own = stepsFor(words).flatMap(({ on }) => on?.(plan) ?? []);
	return carryOutSteps({ objects, steps: own }, session);
}

async function eventsIn(objects: DayObject[]): Promise<string[]> {
	const rows = await session.rows<{ event: string }>(
		`SELECT event_id || ' ' || body AS event FROM ${parquetRows(objects.map(({ file }) => file))} ORDER BY ALL`,
	);
	return rows.map(({ event }) => event);
}

test("a file is written once, without the rows that any step leaves out and with the bodies that one changes", async () => {
	const order = '{"kind":"order","a":1}';
	const violations = '{"omit":["/a"]}';
	const objects = [
		await objectOf(
			{ id: "a", kind: "erased", body: order },
			{ id: "b", body: order },
			{ id: "c", body: '{"kind":"offer"}' },
			{ id: "d", body: order, violations },
			{ id: "e", body: order },
		),
		await objectOf({ id: "f", body: order }),
	];
	const untouched = await stat(objects[1]!.file);
	const without = [await objectOf("b")];
	const left = await carryOut(
		{
			erasures: { asked: 1, others: [] },
			earlier: without,
			filter,
		},
		objects,
		without,
	);
	expect(left).toMatchObject([{ rows: 2, bodyBytes: 36 }, objects[1]!]);
	expect(await eventsIn(left)).toEqual([
		`d {"kind":"order"}`,
		`e ${order}`,
		`f ${order}`,
	]);
	expect((await stat(left[1]!.file)).ino).toBe(untouched.ino);
});

test("events that were released are left out of the quarantine's day; an object without rows stays, so that records name it", async () => {
	const apart = [
		await objectOf("a", "b"),
		await objectOf("c"),
		await objectOf("d"),
	];
	const released = [await objectOf("x", "b"), await objectOf("c", "y")];
	const left = await carryOut({ released }, apart);
	expect(left.map(({ rows }) => rows)).toEqual([1, 0, 1]);
	expect(await eventsIn(left)).toEqual(["a {}", "d {}"]);
	// What is added came after all that was released.
	const [step] = stepsFor({ released }).slice(-1);
	expect(
		step!.on!({ addition: {} as DateAddition, files: () => [] }),
	).toBeUndefined();
});

test("a day of which no step wants anything stays as it is", async () => {
	const apart = [await objectOf("a")];
	expect(await carryOut({ released: [await objectOf("x")] }, apart)).toEqual(
		apart,
	);
	expect(await carryOut({ released: [await objectOf("x")] }, [])).toEqual([]);
	expect(
		await carryOutSteps(
			{ objects: apart, steps: [{ deciding: ["x"] }] },
			session,
		),
	).toBe(apart);
});

test("the rows that stay in the table are left out, all of them or the table isn't what it says", async () => {
	const objects = [
		await objectOf("a", "b"),
		await objectOf("c"),
		await objectOf("d"),
	];
	const without = [await objectOf("b", "c")];
	const left = await carryOut({ earlier: without }, objects, without);
	// An object without rows stays: what it had is in the table.
	expect(left.map(({ rows }) => rows)).toEqual([1, 0, 1]);
	expect(await eventsIn(left)).toEqual(["a {}", "d {}"]);
	const foreign = [await objectOf("x")];
	await expect(carryOut({ earlier: foreign }, left, foreign)).rejects.toThrow(
		TableChanged,
	);
});

describe("in the order of the steps", () => {
	const erasures = { asked: 1, others: [] };

	test("an event that was erased is none that a table holds early", async () => {
		const without = [await objectOf("a")];
		const objects = [await objectOf({ id: "a", kind: "erased" }, "b")];
		await expect(
			carryOut({ erasures, earlier: without }, objects, without),
		).rejects.toThrow(TableChanged);
	});

	test("an event that a table holds early is one, whatever the filter wants", async () => {
		const without = [await objectOf("a")];
		const objects = [
			await objectOf("a", { id: "b", body: '{"kind":"order"}' }),
		];
		const left = await carryOut({ earlier: without, filter }, objects, without);
		expect(left).toMatchObject([{ rows: 1 }]);
	});

	test("the filter sees a body as it came, and not what a tracking plan has left of it", async () => {
		const violations = '{"omit":["/kind"]}';
		const objects = [
			await objectOf({ id: "a", body: '{"kind":"order"}', violations }),
		];
		const left = await carryOut({ filter }, objects);
		expect(await eventsIn(left)).toEqual(["a {}"]);
	});
});
