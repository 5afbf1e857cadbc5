import { expect, test } from "vitest";
import type {
	BodyColumnType,
	BodyValueType,
	TableColumn,
	TimestampFormat,
} from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import type { ValidationRecord } from "../../packages/contracts/tracking-plan.ts";
import { startOfDate } from "../../packages/contracts/utc-date.ts";
import { bigQueryFixture } from "../support/fixtures/data-plane/bigquery-fixture.ts";
import { loadFixture } from "../support/fixtures/data-plane/load-fixture.ts";

const ways = {
	DuckDB: { table: "orders", fixtureOf: loadFixture },
	BigQuery: { table: "shop.orders", fixtureOf: bigQueryFixture },
};

const date = "2026-03-01";

function eventOf(
	id: number,
	body: string,
	violations?: Partial<ValidationRecord>,
) {
	return {
		event_id: `e${id}`,
		timestampMs: startOfDate(date) + id,
		body,
		...(violations && {
			violations: JSON.stringify({ plan: "p", version: "v", ...violations }),
		}),
	};
}

function column(
	name: string,
	bodyPointer: string,
	type: Exclude<BodyColumnType, "Decimal">,
): TableColumn {
	return { name, from: { bodyPointer, ...({ type } as BodyValueType) } };
}

const plain: TableColumn[] = [
	{ name: "event_id", from: "EventID" },
	{ name: "date", from: "Date" },
];

function inputOf(...more: TableColumn[]) {
	const columns = [...plain, ...more];
	return { table: { name: "orders", description: "", columns } };
}

const violations: NonNullable<ValidationRecord["violations"]> = [
	{ kind: "TypeMismatch", path: "/id", message: '"violations":' },
];

/** What tracking plans and bodies make of a table: violations, omitted properties, columns from the body. */
export function tryBodies(destination: keyof typeof ways): void {
	const { table, fixtureOf } = ways[destination];

	test(`${destination}: violations are a column, and what a plan omits is left out of bodies and of columns from them`, async () => {
		const { manifest, load, rows } = await fixtureOf();
		const spaced = '{ "id" : 1.0,\t"secret":"kept" }';
		const { exitCode, log } = await load(
			await manifest({
				[date]: [
					[
						eventOf(0, spaced),
						eventOf(1, "{}", { type: '"violations":' }),
						eventOf(2, "[]", { type: "t", violations }),
						eventOf(
							3,
							'{"id":2, "secret":{"a":1}, "n":{"secret":3,"b":[4]} }',
							{
								violations: [
									{ kind: "UnplannedProperty", path: "", message: "" },
								],
								omit: ["/secret", "/n/secret", "/absent"],
							},
						),
					],
					// Another object of the day, with nothing to omit.
					[eventOf(4, spaced, { type: "t", violations })],
				],
			}),
			{
				input: inputOf(
					{ name: "body", from: "Body" },
					{ name: "violations", from: "Violations" },
					column("secret", "/secret", "JSON"),
					column("n", "/n", "JSON"),
				),
			},
		);
		expect(exitCode, log).toBe(0);
		const found = JSON.stringify({
			plan: "p",
			version: "v",
			type: "t",
			violations,
		});
		const kept = '"kept"';
		expect(
			await rows(
				`select body, violations, secret::varchar, n::varchar from ${table} order by event_id`,
			),
		).toEqual([
			[spaced, null, kept, null],
			["{}", null, null, null],
			["[]", found, null, null],
			[
				'{"id":2, "n":{"b":[4]} }',
				expect.stringContaining('"omit":["/secret"'),
				null,
				'{"b":[4]}',
			],
			[spaced, found, kept, null],
		]);
	});

	test(`${destination}: values of the body are columns of their types; those that don't fit are NULL and counted`, async () => {
		const { manifest, load, rows } = await fixtureOf();
		const end = await load(
			await manifest({
				[date]: [
					[
						eventOf(
							0,
							'{"s":"ü","i":9007199254740993,"f":1.25,"b":true,"t":"2026-03-01T12:00:00.5+02:00","d":"2026-02-28","j":{"a":[1]}}',
						),
						{
							...eventOf(
								1,
								'{"s":"","i":"12","f":"0.5","b":"false","t":"2026-03-01T12:00:00Z","d":"2026-02-28","j":"x"}',
							),
							kind: "form",
						},
						eventOf(
							2,
							'{"s":[],"i":"x","f":"x","b":0,"t":"2026-03-01","d":"2026-02-30","j":null}',
						),
						eventOf(3, '{"i":1.5,"half a pair":"\\ud800"}'),
						eventOf(4, "7"),
						// Whoever filled the form left all of it empty.
						{
							...eventOf(
								5,
								'{"s":"","i":"","f":"","b":"","t":"","d":"","j":""}',
							),
							kind: "form",
						},
					],
				],
			}),
			{
				input: inputOf(
					column("s", "/s", "String"),
					column("i", "/i", "Integer"),
					column("f", "/f", "Number"),
					column("b", "/b", "Boolean"),
					column("t", "/t", "Timestamp"),
					column("d", "/d", "Date"),
					column("j", "/j", "JSON"),
				),
			},
		);
		expect(end.exitCode, end.log).toBe(0);
		expect(end.result).toMatchObject({
			rows: 6,
			unfitValues: expect.arrayContaining([
				expect.objectContaining({ column: "i", rows: 2 }),
				...["s", "f", "b", "t", "d"].map((each) =>
					expect.objectContaining({ column: each, rows: 1 }),
				),
			]),
		});
		expect(
			await rows(
				`select s, i::text, f, b, epoch_ms(t)::text, d::text, j::varchar from ${table} order by event_id`,
			),
		).toEqual([
			[
				"ü",
				"9007199254740993",
				1.25,
				true,
				String(Date.UTC(2026, 2, 1, 10, 0, 0, 500)),
				"2026-02-28",
				'{"a":[1]}',
			],
			[
				"",
				"12",
				0.5,
				false,
				String(Date.UTC(2026, 2, 1, 12)),
				"2026-02-28",
				'"x"',
			],
			...Array(3).fill(Array(7).fill(null)),
			["", ...Array(6).fill(null)],
		]);
		const types = await rows(
			`select column_type from (describe ${table}) where length(column_name) = 1 order by column_name`,
		);
		expect(types.flat()).toEqual([
			"BOOLEAN",
			"DATE",
			"DOUBLE",
			"BIGINT",
			destination === "DuckDB" ? "JSON" : "VARCHAR",
			"VARCHAR",
			"TIMESTAMP WITH TIME ZONE",
		]);
	});

	test(`${destination}: columns hold the number that was written, and an odd body has the values that it can have`, async () => {
		const { manifest, load, rows } = await fixtureOf();
		const bodies = [
			'{"s":12345678901234567.89,"price":1.10,"big":1e-10,"j":{"n":[1.10, 1e400]},"t":"2026-02-28T24:00:00+0000"}',
			'{"s":"cut \\ud83c","price":1.005,"j":["\\ud83c"],"t":"2016-12-31T23:59:60Z"}',
			'{"s":"evil","x":"\\ud83c","s":"ok","price":1e400,"j":{"a":1,"a":2}}',
			'{"s":"a\\u0000b","price":"19.99","x":1e400}',
		];
		const end = await load(
			await manifest({
				[date]: [bodies.map((body, id) => eventOf(id, body))],
			}),
			{
				input: inputOf(
					{ name: "body", from: "Body" },
					column("s", "/s", "String"),
					{
						name: "price",
						from: {
							bodyPointer: "/price",
							type: "Decimal",
							precision: 10,
							scale: 2,
						},
					},
					{
						name: "big",
						from: {
							bodyPointer: "/big",
							type: "Decimal",
							precision: 38,
							scale: 10,
						},
					},
					column("j", "/j", "JSON"),
					column("t", "/t", "Timestamp"),
				),
			},
		);
		expect(end.exitCode, end.log).toBe(0);
		expect(
			await rows(
				`select body, s, price::decimal(10,2)::varchar, big::varchar, j::varchar, epoch_ms(t)::varchar from ${table} order by event_id`,
			),
		).toEqual([
			[
				bodies[0],
				"12345678901234567.89",
				"1.10",
				"0.0000000001",
				'{"n":[1.10,1e400]}',
				String(Date.UTC(2026, 2, 1)),
			],
			[
				bodies[1],
				"cut \ufffd",
				null,
				null,
				'["\ufffd"]',
				String(Date.UTC(2017, 0, 1)),
			],
			[bodies[2], "ok", null, null, '{"a":2}', null],
			[bodies[3], "a\0b", "19.99", null, null, null],
		]);
		expect(end.result).toMatchObject({
			unfitValues: expect.arrayContaining(
				["s", "price", "j"].map((each) =>
					expect.objectContaining({ column: each, rows: 2 }),
				),
			),
		});
		const types = await rows(
			`select column_type from (describe ${table}) where column_name in ('price', 'big') order by column_name`,
		);
		expect(types.flat()).toEqual(
			destination === "DuckDB"
				? ["DECIMAL(38,10)", "DECIMAL(10,2)"]
				: ["VARCHAR", "DECIMAL(38,9)"],
		);
	});

	test(`${destination}: a Timestamp takes what its format says, and one that is read otherwise is loaded anew`, async () => {
		const { manifest, load, rows } = await fixtureOf();
		const bodies = [
			'{"s":1772366400.2542089,"ms":"1772366400123.45","mail":"Sun, 1 Mar 2026 12:00:00 EST (noon)","here":"2026-07-01 00:30:00"}',
			'{"s":1772366400123,"ms":1e400,"mail":"Mon, 1 Mar 2026 12:00:00 +0000","here":"2026-03-01T12:00:00Z"}',
			'{"s":null,"here":"2026-10-25 02:30:00"}',
		];
		const march = () =>
			manifest({ [date]: [bodies.map((body, id) => eventOf(id, body))] });
		const format = (
			name: string,
			how: TimestampFormat,
			bodyPointer = `/${name}`,
		): TableColumn => ({
			name,
			from: { bodyPointer, type: "Timestamp", ...how },
		});
		const zone = { format: "Local", timeZone: "Europe/Berlin" } as const;
		const end = await load(await march(), {
			input: inputOf(
				format("s", { format: "UnixSeconds" }),
				format("ms", { format: "UnixMillis" }),
				format("mail", { format: "RFC2822" }),
				format("here", zone),
				format("late", {}, "/s"),
			),
		});
		expect(end.exitCode, end.log).toBe(0);
		const instants = ["s", "ms", "mail", "here", "late"];
		const values = () =>
			rows(
				`select ${instants.map((name) => `epoch_us(${name})::varchar`).join(", ")} from ${table} order by event_id`,
			);
		const micros = (text: string, rest = "000") => `${Date.parse(text)}${rest}`;
		const here = [
			micros("2026-06-30T22:30:00Z"),
			null,
			micros("2026-10-25T00:30:00Z"),
		];
		const [s, ms, mail] = [
			micros("2026-03-01T12:00:00.254Z", "208"),
			micros("2026-03-01T12:00:00.123Z", "450"),
			micros("2026-03-01T17:00:00Z"),
		];
		expect(await values()).toEqual([
			[s, ms, mail, here[0], null],
			[null, null, null, null, null],
			[null, null, null, here[2], null],
		]);
		expect(end.result).toMatchObject({
			unfitValues: expect.arrayContaining([
				// Of three events, and null is no value.
				{ column: "late", rows: 2, values: 2, eventID: "e1" },
				{ column: "here", rows: 2, values: 3, eventID: "e2" },
				...["s", "ms", "mail"].map((name) => ({
					...{ column: name, rows: 1, values: 2, eventID: "e1" },
				})),
			]),
		});
		const types = await rows(
			`select distinct column_type from (describe ${table}) where column_name in ('s', 'here')`,
		);
		expect(types, destination).toEqual([["TIMESTAMP WITH TIME ZONE"]]);
		// A Run that adds nothing new reads the values anew all the same.
		const again = await load(await march(), {
			input: {
				...inputOf(
					format("s", { format: "UnixMillis" }),
					format("ms", { format: "UnixMillis" }),
					format("mail", { format: "RFC2822" }),
					format("here", { format: "Local", timeZone: "Asia/Kolkata" }),
					format("late", { format: "UnixSeconds" }, "/s"),
				),
				adds: true as const,
			},
		});
		expect(again.exitCode, again.log).toBe(0);
		// Seconds are times in January 1970 there: the Run counts those.
		expect(again.result).toMatchObject({
			unfitValues: expect.arrayContaining([
				{ column: "s", rows: 1, values: 2, eventID: "e0" },
			]),
		});
		expect(await values()).toEqual([
			["1772366400254", ms, mail, micros("2026-06-30T19:00:00Z"), s],
			["1772366400123000", null, null, null, null],
			[null, null, null, micros("2026-10-24T21:00:00Z"), null],
		]);
	});

	test(`${destination}: a decimal of another precision or scale needs a rebuild where the table's type is another`, async () => {
		const { manifest, load, rows } = await fixtureOf();
		const march = () => manifest({ [date]: [[eventOf(0, '{"a":1.25}')]] });
		const decimal = (precision: number, scale: number) =>
			inputOf({
				name: "a",
				from: { bodyPointer: "/a", type: "Decimal", precision, scale },
			});
		const value = `select a::varchar from ${table}`;
		await load(await march(), { input: decimal(10, 2) });
		const narrow = await load(await march(), { input: decimal(10, 1) });
		// A NUMERIC of BigQuery has no scale of its own.
		if (destination === "BigQuery") {
			expect(narrow.result).toMatchObject({
				unfitValues: [{ column: "a", rows: 1 }],
			});
			expect(await rows(value)).toEqual([[null]]);
		}
		const wide = await load(await march(), { input: decimal(38, 10) });
		for (const end of destination === "BigQuery" ? [wide] : [wide, narrow])
			expect(end.result).toMatchObject({
				error: {
					code: "TableIncompatible",
					message: expect.stringMatching(
						/column "a" has type (DECIMAL\(10,2\)|NUMERIC), but the load needs (DECIMAL\((38,10|10,1)\)|BIGNUMERIC)/,
					),
				},
			});
		const rebuilt = await load(await march(), {
			input: { ...decimal(38, 10), rebuild: true },
		});
		expect(rebuilt.exitCode, rebuilt.log).toBe(0);
		expect(await rows(value)).toEqual([["1.2500000000"]]);
	});

	test(`${destination}: events in quarantine get into a table of their own, day by day and as a whole`, async () => {
		const { manifest, load, rows } = await fixtureOf();
		const input = {
			...inputOf(),
			quarantineTable: {
				name: "orders_quarantine",
				columns: [
					...plain,
					{ name: "violations", from: "Violations" as const },
				],
				description: "",
			},
		};
		/** The manifest of some days, each with as many events and as many in quarantine. */
		const daysOf = async (
			counts: Record<string, [events: number, apart: number]>,
		): Promise<Manifest> => {
			const event = (date: string, n: number) => ({
				...eventOf(n, "{}", { type: "t", violations }),
				event_id: `${date}-${n}`,
				timestampMs: startOfDate(date) + n,
			});
			const stored = (which: 0 | 1) =>
				manifest(
					Object.fromEntries(
						Object.entries(counts).map(([date, of]) => [
							date,
							of[which] === 0
								? []
								: [
										Array.from({ length: of[which] }, (_, n) =>
											event(date, which * 100 + n),
										),
									],
						]),
					),
				);
			const [all, apart] = [await stored(0), await stored(1)];
			return {
				...all,
				dates: all.dates.map((day, index) => {
					const { rows, objects } = apart.dates[index]!;
					return { ...day, ...(rows > 0 && { quarantine: { rows, objects } }) };
				}),
			};
		};
		const found = async () => [
			await rows(
				`select date::text, count(*)::int from ${table} group by all order by all`,
			),
			await rows(
				`select date::text, count(violations)::int from ${table}_quarantine group by all order by all`,
			),
		];
		const first = await load(
			await daysOf({ "2026-02-28": [2, 1], [date]: [1, 3] }),
			{ input },
		);
		expect(first.exitCode, first.log).toBe(0);
		expect(first.result).toMatchObject({ rows: 3, quarantinedRows: 4 });
		expect(await found()).toEqual([
			[
				["2026-02-28", 2],
				[date, 1],
			],
			[
				["2026-02-28", 1],
				[date, 3],
			],
		]);
		const second = await load(await daysOf({ [date]: [3, 0] }), { input });
		expect(second.exitCode, second.log).toBe(0);
		expect(await found()).toEqual([
			[
				["2026-02-28", 2],
				[date, 3],
			],
			[["2026-02-28", 1]],
		]);
		// One of two was released: it has the id of an event of the day.
		const released = await daysOf({ [date]: [101, 2] });
		released.dates[0]!.objects[0]!.released = true;
		const third = await load(released, { input });
		expect(third.exitCode, third.log).toBe(0);
		expect(third.result).toMatchObject({ rows: 101, quarantinedRows: 1 });
		expect((await found())[1]).toEqual([
			["2026-02-28", 1],
			[date, 1],
		]);
	});

	test(`${destination}: a decimal of an event in quarantine is exact in the table of those, and what doesn't fit is NULL`, async () => {
		const { manifest, load, rows } = await fixtureOf();
		const bodies = ["12345678901234567.89", "1.10", "1.005", '"-0.5"'];
		const held = await manifest({
			[date]: [bodies.map((a, id) => eventOf(id + 1, `{"a":${a}}`))],
		});
		const own = await manifest({ [date]: [[eventOf(0, '{"a":2.50}')]] });
		const quarantine = {
			rows: bodies.length,
			objects: held.dates[0]!.objects,
		};
		const input = inputOf({
			name: "a",
			from: { bodyPointer: "/a", type: "Decimal", precision: 19, scale: 2 },
		});
		const end = await load(
			{ ...own, dates: [{ ...own.dates[0]!, quarantine }] },
			{
				input: {
					...input,
					quarantineTable: {
						name: "orders_quarantine",
						description: "",
						columns: input.table.columns,
					},
				},
			},
		);
		expect(end.exitCode, end.log).toBe(0);
		const values = (of: string) =>
			rows(`select a::decimal(19,2)::varchar from ${of} order by event_id`);
		expect(await values(table)).toEqual([["2.50"]]);
		expect((await values(`${table}_quarantine`)).flat()).toEqual([
			"12345678901234567.89",
			"1.10",
			null,
			"-0.50",
		]);
	});

	test(`${destination}: of an event's headers, one with half of a surrogate pair has U+FFFD and is counted, and the others have their values`, async () => {
		const { manifest, load, rows } = await fixtureOf();
		const headers = [
			{ "x-odd": "cut \ud83c", "x-a": "fine", "x-b": "snow \u2603 \u0001" },
			{ "x-odd": "\udf89\ud83c", "x-b": "" },
			{ "x-odd": "whole \ud83c\udf89", "x-a": "\\ud83c" },
		];
		const header = (name: string): TableColumn => ({
			name: `header_x_${name}`,
			from: { header: `x-${name}` },
		});
		const end = await load(
			await manifest({
				[date]: [
					headers.map((each, id) => ({
						...eventOf(id, "{}"),
						headers: each as Record<string, string>,
					})),
				],
			}),
			{ input: inputOf(header("odd"), header("a"), header("b")) },
		);
		expect(end.exitCode, end.log).toBe(0);
		expect(
			await rows(
				`select header_x_odd, header_x_a, header_x_b from ${table} order by event_id`,
			),
		).toEqual([
			["cut \ufffd", "fine", "snow \u2603 \u0001"],
			["\ufffd\ufffd", null, ""],
			["whole \ud83c\udf89", "\\ud83c", null],
		]);
		expect(end.result).toMatchObject({
			unfitValues: [{ column: "header_x_odd", rows: 2 }],
		});
	});
}
