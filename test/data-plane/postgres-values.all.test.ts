// In make test: test/data-plane/load.laptop.test.ts
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import type { BodyValueType, LoadInput } from "../../packages/contracts/job.ts";
import { columns } from "../support/fixtures/data-plane/load-fixture.ts";
import {
	postgresFixture,
	postgresOfFile,
} from "../support/fixtures/data-plane/postgres-fixture.ts";

/* What Postgres holds of a body and its values, and what it can't hold. */

const server = postgresOfFile();

const odd: [what: string, json: string, fits: boolean][] = [
	["an object", '{"a": [1, "\\u00e9"], "b": 1.50}', true],
	["NUL", '{"a":"\\u0000"}', false],
	["a backslash before u0000", '{"a":"\\\\u0000"}', true],
	["half a pair", '"\\ud800"', false],
	["the other half", '"\\udc00x"', false],
	["a pair", '"\\ud83d\\ude00"', true],
	["a number beyond numeric", "1e200000", false],
	["a number of numeric", "1e131000", true],
	["a number too near to 0", "1e-20000", false],
	["deep", `${"[".repeat(900)}${"]".repeat(900)}`, true],
	["too deep", `${"[".repeat(20_000)}${"]".repeat(20_000)}`, false],
	[
		"too deep, beside others",
		`${"[[],".repeat(20_000)}1${"]".repeat(20_000)}`,
		false,
	],
	["tabs and line ends", '{\t"a":\r\n"\\t\\n"}', true],
];

test("a body is jsonb by choice; what jsonb can't hold is NULL and counted, and so is a text with NUL", async () => {
	const { manifest, loaded, sql } = await postgresFixture(server());
	const input: Partial<LoadInput> = {
		table: {
			name: "orders",
			description: "",
			columns: [
				...columns,
				{ name: "a", from: { bodyPointer: "/a", type: "String" } },
			],
			options: { bodyType: "jsonb", indexes: [["a", "date"]] },
		},
		rejectedTable: { name: "orders_rejected", description: "" },
	};
	const events = odd.map(([, body], index) => ({
		event_id: `e${String(index).padStart(2, "0")}`,
		timestampMs: Date.UTC(2026, 2, 1) + index,
		body,
	}));
	const result = await loaded(
		await manifest({ "2026-03-01": [events] }),
		input,
	);
	expect(
		(
			await sql(
				"SELECT body IS NOT NULL FROM webhooks.orders ORDER BY event_id",
			)
		).map(([fits], index) => [odd[index]![0], fits === "t"]),
	).toEqual(odd.map(([what, , fits]) => [what, fits]));
	expect(result).toMatchObject({
		unfitValues: expect.arrayContaining([
			expect.objectContaining({
				column: "body",
				rows: odd.filter(([, , fits]) => !fits).length,
				values: odd.length,
			}),
			// An array is no text, and one text has NUL.
			expect.objectContaining({ column: "a", rows: 2 }),
		]),
	});
	const rejected = await sql(
		"SELECT event_id, column_name, value, reason FROM webhooks.orders_rejected ORDER BY event_id, column_name",
	);
	expect(
		rejected.filter(([, column]) => column === "body").map(([id]) => id),
	).toEqual(
		odd.flatMap(([, , fits], index) => (fits ? [] : events[index]!.event_id)),
	);
	expect(rejected).toContainEqual([
		expect.any(String),
		"a",
		expect.stringContaining("\\u0000"),
		"Postgres' text can't hold \\u0000.",
	]);
	expect(
		await sql(
			"SELECT count(*) FROM pg_indexes WHERE schemaname = 'webhooks' AND indexdef LIKE '%(a, date)'",
		),
	).toEqual([["2"]]);
});

test("what Postgres can't hold counts of the events that a filter wants, too", async () => {
	const { manifest, loaded } = await postgresFixture(server());
	const events = ["yes", "no"].map((keep, index) => ({
		event_id: keep,
		timestampMs: Date.UTC(2026, 2, 1) + index,
		body: JSON.stringify({ keep, a: "\0" }),
	}));
	const input: Partial<LoadInput> = {
		table: {
			name: "orders",
			description: "",
			columns: [
				...columns,
				{ name: "a", from: { bodyPointer: "/a", type: "String" } },
			],
		},
		filter: { match: { bodyPointer: "/keep", equals: "yes" } },
	};
	expect(
		await loaded(await manifest({ "2026-03-01": [events] }), input),
	).toMatchObject({
		rows: 1,
		unfitValues: [{ column: "a", rows: 1, eventID: "yes" }],
	});
});

test("a value that Postgres refuses for its size is named by its event and column, and nothing changes", async () => {
	const { manifest, load, loaded, sql } = await postgresFixture(server());
	const input: Partial<LoadInput> = {
		table: {
			name: "orders",
			description: "",
			columns: [
				...columns,
				{ name: "a", from: { bodyPointer: "/a", type: "String" } },
			],
			options: { indexes: [["a"]] },
		},
	};
	const event = (event_id: string, a: string) => ({
		event_id,
		timestampMs: Date.UTC(2026, 2, 1),
		body: JSON.stringify({
			a,
			pad: "x".repeat(event_id === "e1" ? 90_000 : 1),
		}),
	});
	// An entry of an index has at most a third of a page, and this can't be compressed.
	const long = randomBytes(30_000).toString("base64");
	const refused = async (...events: ReturnType<typeof event>[]) => {
		const { result } = await load(await manifest({ "2026-03-01": [events] }), {
			input,
		});
		expect(result).toMatchObject({
			outcome: "Failed",
			error: {
				code: "PostgresRefused",
				message: expect.stringMatching(
					/54000.*The largest value has 40000 bytes, in column "a" of event e2\./,
				),
			},
		});
	};
	// A day that is attached, and one that is filled in its place.
	await refused(event("e1", "short"), event("e2", long));
	const fits = await manifest({ "2026-03-01": [[event("e1", "short")]] });
	await loaded(fits, input);
	await refused(event("e1", "short"), event("e2", long));
	expect(await sql("SELECT event_id FROM webhooks.orders")).toEqual([["e1"]]);
});

test("a typed column has the value that was written, to the last digit and at the type's limits", async () => {
	const { manifest, loaded, sql } = await postgresFixture(server());
	const decimal = (precision: number, scale: number) =>
		({ type: "Decimal", precision, scale }) as const;
	const tried: [type: BodyValueType, written: string[], stored?: string[]][] = [
		[decimal(1, 0), ["-9", "0", "7"]],
		[decimal(1, 1), ["-0.9", "0.0", "0.1"]],
		[decimal(5, 2), ["-999.99", "0.01", "100.00"]],
		[decimal(9, 4), ["-10000.0001", "99999.9999", "0.0000"]],
		[decimal(10, 9), ["0.000000001", "-1.000000000", "9.999999999"]],
		[decimal(38, 0), [`-${"9".repeat(38)}`, "10000", "100000000"]],
		[decimal(38, 38), [`-0.${"9".repeat(38)}`, `0.${"0".repeat(37)}1`]],
		[
			decimal(38, 9),
			[`${"9".repeat(29)}.999999999`, "-12345678.000000001", "-0.5"],
			[`${"9".repeat(29)}.999999999`, "-12345678.000000001", "-0.500000000"],
		],
		[
			{ type: "Integer" },
			["-9223372036854775808", "9223372036854775807", "-1", "0"],
		],
		[
			{ type: "Number" },
			["5e-324", "-1.7976931348623157e+308", "0.1", "-0.0"],
			["5e-324", "-1.7976931348623157e+308", "0.1", "-0"],
		],
		[{ type: "Boolean" }, ["true", "false"]],
		[
			{ type: "Date" },
			['"0001-01-01"', '"1999-12-31"', '"2000-01-01"', '"9999-12-31"'],
			["0001-01-01", "1999-12-31", "2000-01-01", "9999-12-31"],
		],
		[
			{ type: "Timestamp" },
			['"0001-01-01T00:00:00Z"', '"1999-12-31T23:59:59.999999Z"'],
			["0001-01-01 00:00:00+00", "1999-12-31 23:59:59.999999+00"],
		],
		[
			{ type: "JSON" },
			['{"a": "\\u20ac €"}', "[]", '"x"', "1e3"],
			['{"a": "€ €"}', "[]", '"x"', "1000"],
		],
		[{ type: "String" }, ['""', '"ü 😀"', '"\\\\N"'], ["", "ü 😀", "\\N"]],
	];
	const events = Array.from({ length: 5 }, (_, row) => ({
		event_id: `e${row}`,
		timestampMs: Date.UTC(2026, 2, 1) + row,
		body: `{${tried
			.flatMap(([, written], column) =>
				written[row] === undefined ? [] : `"v${column}":${written[row]}`,
			)
			.join(",")}}`,
	}));
	const input: Partial<LoadInput> = {
		table: {
			name: "orders",
			description: "",
			columns: [
				...columns,
				...tried.map(([type], column) => ({
					name: `v${column}`,
					from: { bodyPointer: `/v${column}`, ...type },
				})),
			],
		},
	};
	await loaded(await manifest({ "2026-03-01": [events] }), input);
	const texts = tried.map((_, column) => `v${column}::text`).join(", ");
	const found = await sql(
		`SET TimeZone = 'UTC'; SELECT ${texts} FROM webhooks.orders ORDER BY event_id`,
	);
	for (const [column, [type, written, stored = written]] of tried.entries())
		expect(
			found.map((row) => row[column]),
			JSON.stringify(type),
		).toEqual(Array.from({ length: 5 }, (_, row) => stored[row] ?? null));
	expect(
		await sql(
			"SELECT timestamp = to_timestamp(1772323200.004), date FROM webhooks.orders WHERE event_id = 'e4'",
		),
	).toEqual([["t", "2026-03-01"]]);
});

test("a body of text is byte for byte what was sent", async () => {
	const { manifest, loaded, sql } = await postgresFixture(server());
	const bodies = [
		...odd.map(([, body]) => body),
		'"\\N"',
		'"back\\\\slash"',
		'{"a":"\\\\."}',
		'" ü \u2028 😀 "',
		"\\N",
		"",
	];
	const events = bodies.map((body, index) => ({
		event_id: `e${String(index).padStart(2, "0")}`,
		timestampMs: Date.UTC(2026, 2, 1) + index,
		body,
	}));
	await loaded(await manifest({ "2026-03-01": [events] }));
	expect(
		(await sql("SELECT body FROM webhooks.orders ORDER BY event_id")).flat(),
	).toEqual(bodies);
});
