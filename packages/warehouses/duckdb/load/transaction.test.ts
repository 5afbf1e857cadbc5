import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import { manifestOf } from "../../../../test/support/examples/manifest-example.ts";
import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import { quoteText } from "../../../duckdb/quoting.ts";
import { openDatabase, Session } from "../../../duckdb/session.ts";
import { defineBodyValues } from "../../load/body-values.ts";
import { loadTable } from "../../load/load-table.ts";
import { type LoadPlan, planLoad } from "./plan.ts";
import { DuckDBLoad } from "./transaction.ts";

const log = pino({ level: "silent" });

function carryOut(plan: () => Promise<LoadPlan>, session: Session) {
	return loadTable(new DuckDBLoad(plan, session, log), "events", log);
}

test("a load is planned inside the transaction that carries it out, so that a load that slept sees what came meanwhile", async () => {
	let isInside = false;
	const session = {
		transaction: async (work: () => Promise<void>) => {
			isInside = true;
			await work();
			isInside = false;
		},
		rows: async () => [{ rows: 0n }],
	} as unknown as Session;
	const planned: boolean[] = [];
	await carryOut(async () => {
		planned.push(isInside);
		return { table: "events", steps: [] } as never;
	}, session);
	expect(planned).toEqual([true]);
});

test("a load that would leave another number of rows than the manifest says fails inside its transaction", async () => {
	const session = {
		transaction: (work: () => Promise<void>) => work(),
		rows: async () => [{ rows: 2n }],
	} as unknown as Session;
	const load = (rows: number) =>
		carryOut(
			async () => ({ table: "events", steps: [{ do: "CheckRows", rows }] }),
			session,
		);
	await load(2);
	await expect(load(3)).rejects.toThrow("would have 2 rows");
});

test("a column of few texts is stored as a dictionary, and a table of bodies that all differ is stored without trying one", async () => {
	const directory = await mkdtemp(join(tmpdir(), "compression-"));
	const [rows, file] = [20_000, join(directory, "events.parquet")];
	const textOf = (i: string) =>
		`'{"kind":"one of many kinds: ' || ${i} || '"}'`;
	const few = textOf("i % 3");
	/** How DuckDB stores the texts of a table with these columns and these bodies. */
	const compressions = async (columns: TableColumn[], bodies: string) => {
		const session = await Session.open(
			await openDatabase({
				file: join(directory, `${columns.length}${bodies.length}.duckdb`),
				waitMs: 0,
			}),
			new AbortController().signal,
		);
		defineBodyValues(session);
		await session.run(
			`COPY (SELECT i AS event_id, ${bodies} AS body, ${few} AS headers FROM range(${rows}) t(i)) TO ${quoteText(file)}`,
		);
		const input: LoadInput = {
			version: 1,
			run: { name: "r", uid: "u", account: "shop", pipeline: "p" },
			destination: { type: "DuckDB", path: "" },
			table: { name: "events", columns, description: "" },
			strategy: "FullReload",
			rebuild: false,
			manifestURL: "",
		};
		const objects = [{ key: "", url: "", rows, bytes: 1, file }];
		const days = [{ date: "2026-03-01", rows, objects, steps: [] }];
		const plan = planLoad(input, manifestOf(), days, undefined);
		await carryOut(async () => plan, session);
		await session.run("CHECKPOINT");
		const found = await session.rows<{ name: string; compression: string }>(
			"SELECT DISTINCT column_name AS name, compression FROM pragma_storage_info('events') WHERE segment_type = 'VARCHAR'",
		);
		session.close();
		return found.map(({ name, compression }) => `${name} ${compression}`);
	};
	const body: TableColumn = { name: "body", from: "Body" };
	const kind: TableColumn = { name: "kind", from: { header: "kind" } };
	try {
		expect(await compressions([body], textOf("i"))).toEqual(["body FSST"]);
		expect(await compressions([body], few)).toEqual(["body Dictionary"]);
		expect(await compressions([body, kind], few)).toEqual(
			expect.arrayContaining(["body Dictionary", "kind Dictionary"]),
		);
	} finally {
		await rm(directory, { recursive: true });
	}
});
