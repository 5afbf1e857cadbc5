import { Agent } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import type {
	BodyColumnType,
	BodyValueType,
	TableColumn,
	TimestampFormat,
} from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import {
	ArchiveFixture,
	eventually,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import { bigQueryFixture } from "../support/fixtures/data-plane/bigquery-fixture.ts";
import {
	type LoadFixture,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";
import { postgresFixture } from "../support/fixtures/data-plane/postgres-fixture.ts";
import {
	startReceiver,
	type TestReceiver,
	TestRoutes,
	untilReady,
} from "../support/fixtures/data-plane/receiver.ts";
import { sendJSON } from "../support/senders/http-client.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";
import {
	type PostgresServer,
	startPostgres,
} from "../support/servers/postgres.ts";
import { makeBody } from "./body-values/bodies.ts";
import {
	canonicalText,
	decimalText,
	type ExpectedValue,
	expectedValue,
	inPostgres,
	jsonbText,
	readBody,
} from "./body-values/body-oracle.ts";
import { SeededChoices } from "./body-values/choices.ts";

const types = [
	...(["String", "Integer", "Number", "Boolean"] as const),
	...(["Timestamp", "Date", "JSON"] as const),
];
const formats: readonly TimestampFormat[] = [
	...(["UnixSeconds", "UnixMillis", "RFC2822"] as const).map((format) => ({
		format,
	})),
	{ format: "Local", timeZone: "Europe/Berlin" },
];
const read: readonly [pointer: string, type: BodyValueType][] = [
	["/v", { type: "Decimal", precision: 38, scale: 9 }] as const,
	["/v", { type: "Decimal", precision: 18, scale: 2 }] as const,
	["/n/v", { type: "Decimal", precision: 38, scale: 38 }] as const,
	...types.map((type) => ["/v", type] as const),
	...formats.map((how) => ["/v", { type: "Timestamp", ...how }] as const),
	...(["String", "Integer", "JSON"] as const).map(
		(type) => ["/n/v", type] as const,
	),
	["/a~1b~0", "JSON"],
	["/a~1b~0", "Number"],
	["/list/0", "String"],
	["/list/0", "Timestamp"],
	// GitHub's.
	["/id", "Integer"],
	["/id", "String"],
	["/created_at", "Timestamp"],
	["/private", "Boolean"],
	["/name", "String"],
	["/size", "Number"],
	["/owner", "JSON"],
	["/sender/login", "String"],
].map(([pointer, type]) => [
	pointer!,
	(typeof type === "string" ? { type } : type) as BodyValueType,
]);
const columns = read.map(
	([bodyPointer, type], index): TableColumn & { name: string } => ({
		name: `c${index}`,
		from: { bodyPointer, ...type },
	}),
);
const input = {
	table: {
		name: "orders",
		description: "",
		columns: [
			{ name: "event_id", from: "EventID" },
			{ name: "body", from: "Body" },
			{ name: "date", from: "Date" },
			...columns,
		] satisfies TableColumn[],
	},
};

/** How many random bodies, and of which seed. */
interface Bodies {
	seed: number;
	count: number;
}

/** By event ID, the bodies that were accepted. All that are JSON (RFC 8259) are, and no others. */
async function sendAll(
	url: string,
	{ seed, count }: Bodies,
	again: string,
): Promise<Map<string, string>> {
	const random = new SeededChoices(seed);
	const accepted = new Map<string, string>();
	const agent = new Agent({ keepAlive: true, maxSockets: 64 });
	const wrong: unknown[] = [];
	let left = count;
	const send = async () => {
		while (left-- > 0) {
			// As it goes over the wire.
			const body = makeBody(random).toWellFormed();
			const { status, json } = await sendJSON(url, body, { agent });
			const text = body.replace(/^\uFEFF/, "");
			if (status === 200) accepted.set(json.event_id, text);
			if ((status === 200) !== isJSON(text)) wrong.push([status, json, body]);
		}
	};
	await Promise.all(Array.from({ length: 64 }, send));
	agent.destroy();
	expect(wrong.slice(0, 3), again).toEqual([]);
	return accepted;
}

function isJSON(body: string): boolean {
	try {
		JSON.parse(body);
		return true;
	} catch {
		return false;
	}
}

async function manifestOf(archive: ArchiveFixture, events: number) {
	return eventually(async () => {
		const answer = await archive.ask({
			run: "0c6d3a4e-7d1b-4f0e-8f5e-6a1d2b3c4d5e",
			account: "shop",
			sourceKey: archive.sourceKey,
		});
		if (!answer.ok) throw new Error(answer.error.message);
		const manifest = (await (await fetch(answer.url)).json()) as Manifest;
		const rows = manifest.dates.reduce((sum, { rows }) => sum + rows, 0);
		expect(rows).toBe(events);
		return manifest;
	});
}

/** A warehouse with the table, and how it is read. */
interface ReadWarehouse extends Pick<LoadFixture, "load"> {
	table: string;
	rows(sql: string): Promise<unknown[][]>;
	/** An instant in microseconds of Unix time. */
	microsSql(name: string): string;
	/** What the warehouse holds of a value. */
	held(expected: ExpectedValue, type: BodyValueType): ExpectedValue;
	jsonText(json: string): string | null;
}

const likeDuckDB = {
	microsSql: (name: string) => `epoch_us(${name})`,
	held: (expected: ExpectedValue) => expected,
	jsonText: canonicalText,
};

const warehouses: Record<
	string,
	(postgres: PostgresServer) => Promise<ReadWarehouse>
> = {
	DuckDB: async () => ({
		...(await loadFixture()),
		table: "orders",
		...likeDuckDB,
	}),
	BigQuery: async () => ({
		...(await bigQueryFixture()),
		table: "shop.orders",
		...likeDuckDB,
	}),
	Postgres: async (postgres) => {
		const { load, sql } = await postgresFixture(postgres);
		return {
			load,
			table: "webhooks.orders",
			rows: sql,
			microsSql: (name) => `(extract(epoch FROM ${name}) * 1000000)::bigint`,
			held: inPostgres,
			jsonText: jsonbText,
		};
	},
};

/** As text that all warehouses and the reader write alike. */
function textSql(
	{ name, from }: (typeof columns)[number],
	{ microsSql }: ReadWarehouse,
): string {
	const { type } = from as { type: BodyColumnType };
	return `${type === "Timestamp" ? microsSql(name) : name}::varchar`;
}

function textOf(
	type: BodyColumnType,
	value: string | null,
	{ jsonText }: ReadWarehouse,
): string | null {
	if (value === null) return null;
	if (type === "Number") return String(Number(value));
	if (type === "Decimal") return decimalText(value);
	return type === "JSON" ? jsonText(value) : value;
}

interface Fault {
	column: string;
	read: string;
	found: string | null;
	expected: readonly (string | null)[];
	body: string;
}

/** What differs from what the bodies have, by column. */
function faultsIn(
	rows: readonly (string | null)[][],
	sent: ReadonlyMap<string, string>,
	warehouse: ReadWarehouse,
): { faults: Fault[]; unfit: { least: number; most: number }[] } {
	const faults: Fault[] = [];
	const unfit = columns.map(() => ({ least: 0, most: 0 }));
	for (const [id, stored, ...values] of rows) {
		const body = sent.get(id!)!;
		if (stored !== body)
			faults.push({
				column: "body",
				read: "",
				found: stored!,
				expected: [body],
				body,
			});
		const { json, isVague } = readBody(body)!;
		for (const [index, [pointer, type]] of read.entries()) {
			const { values: expected, isUnfit } = warehouse.held(
				expectedValue(json, pointer, type),
				type,
			);
			const found = textOf(type.type, values[index]!, warehouse);
			if (!expected.includes(found))
				faults.push({
					...{
						column: `c${index}`,
						read: `${pointer} as ${Object.values(type).join(" ")}`,
					},
					...{ found, expected, body },
				});
			unfit[index]!.least += isUnfit && !isVague ? 1 : 0;
			unfit[index]!.most += isUnfit || isVague ? 1 : 0;
		}
	}
	return { faults, unfit };
}

/** Bodies of any kind from POST to three warehouses: each value in a table is the one that was sent. */
export function tryBodies(bodies: Bodies): void {
	/** To do it again. */
	const again = `make fuzz SEED=${bodies.seed} BODIES=${bodies.count}`;
	let servers: Servers;
	let receiver: TestReceiver;
	let postgres: PostgresServer;
	beforeAll(async () => {
		servers = await startServers();
		receiver = await startReceiver(servers.nats);
		postgres = await startPostgres();
	});
	afterAll(async () => {
		await postgres?.stop();
		await receiver?.stop();
		await servers?.stop();
	});

	test("each value of a body is in DuckDB, in BigQuery and in Postgres as an independent reader of JSON with exact numbers reads it", async () => {
		const archive = await ArchiveFixture.open(servers, 0);
		await archive.start();
		const routes = new TestRoutes(archive.connection);
		await routes.markSynced();
		const { path } = await routes.add({
			shard: 0,
			sourceKey: archive.sourceKey,
		});
		await untilReady(receiver);
		const sent = await sendAll(receiver.url + path, bodies, again);
		const manifest = await manifestOf(archive, sent.size);
		for (const open of Object.values(warehouses)) {
			const warehouse = await open(postgres);
			const { load, rows, table } = warehouse;
			const { exitCode, log, result } = await load(manifest, { input });
			expect(exitCode, log).toBe(0);
			const found = (await rows(
				`select event_id, body, ${columns.map((column) => textSql(column, warehouse)).join(", ")} from ${table}`,
			)) as (string | null)[][];
			expect(found.map(([id]) => id).sort()).toEqual([...sent.keys()].sort());
			const { faults, unfit } = faultsIn(found, sent, warehouse);
			const kinds = Map.groupBy(faults, ({ read }) => read);
			const examples = [...kinds.values()].map(([first, ...others]) => ({
				...first,
				others: others.length,
			}));
			expect(examples, `${table}: ${again}`).toEqual([]);
			const counted = new Map(
				(
					result as { unfitValues?: { column: string; rows: number }[] }
				).unfitValues?.map(({ column, rows }) => [column, rows]),
			);
			// A Run names the columns with the most of them, and no more than these.
			const fewest = Math.min(...counted.values());
			const miscounted = columns.flatMap(({ name }, index) => {
				const { least, most } = unfit[index]!;
				const rows = counted.get(name);
				if (rows === undefined && least <= fewest) return [];
				return rows === undefined || rows < least || rows > most
					? [{ read: read[index]!, rows, least, most }]
					: [];
			});
			expect(miscounted, `${table}: ${again}`).toEqual([]);
		}
	});
}
