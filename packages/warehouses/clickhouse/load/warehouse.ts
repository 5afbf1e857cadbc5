import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import { JobFailure } from "../../load/failure.ts";
import type { HeldDate, LoadDay } from "../../load/load-day.ts";
import { loadTable } from "../../load/load-table.ts";
import { type TableTypes, useOfTable } from "../../load/table-plan.ts";
import type {
	DayFiles,
	RowAccess,
	RowStatement,
	Warehouse,
	WarehouseContext,
	WarehouseModule,
} from "../../load/warehouse.ts";
import type { ClickHouseInput } from "../definition.ts";
import {
	type ClickHouse,
	clickHouseHeld,
	countRows,
	detachedParts,
	findTable,
	markedTables,
	namesWith,
	requireAllSeen,
} from "./catalog.ts";
import {
	Connection,
	requireSuitable,
	type ServerFacts,
	serverFacts,
} from "./connection.ts";
import { ClickHouseFailure, exceptionFailure } from "./failure.ts";
import { clickHouseTables } from "./plan.ts";
import {
	hasJSON,
	quoteName,
	quoteText,
	Statements,
	wantedColumns,
} from "./statements.ts";
import { ClickHouseLoad } from "./table-load.ts";

/** No Pipeline's table can have these names, as they have a hyphen. */
const checkPrefix = "_tidemill-check-";

/** A database of ClickHouse. A staging table gives the table its days, each by one partition command, or takes its place. */
class ClickHouseWarehouse implements Warehouse {
	readonly #connection: Connection;
	readonly #sql: Statements;
	readonly #server: ClickHouse;
	readonly #context: WarehouseContext;
	#facts: Promise<ServerFacts> | undefined;
	#ofView: string | undefined;

	constructor(connection: Connection, context: WarehouseContext) {
		this.#connection = connection;
		this.#sql = new Statements(connection.input);
		this.#server = { connection, sql: this.#sql };
		this.#context = context;
	}

	get warning(): string | undefined {
		return this.#ofView ?? this.#connection.warning;
	}

	async held(
		input: LoadInput,
		manifest: Manifest,
	): Promise<ReadonlyMap<UtcDate, HeldDate> | undefined> {
		await this.#requireSuitable(input);
		const existing = await findTable(this.#server, input.table.name);
		return clickHouseHeld(this.#server, existing, input, manifest);
	}

	async requireUsable(input: LoadInput, manifest: Manifest): Promise<void> {
		await this.#requireSuitable(input);
		const existing = await findTable(this.#server, input.table.name);
		if (existing) useOfTable(clickHouseTables, input, manifest, existing);
	}

	async typesOf({ name }: LoadInput["table"]): Promise<TableTypes | undefined> {
		await this.#requireSuitable();
		const existing = await findTable(this.#server, name);
		return existing && { existing: existing.columns, wanted: wantedColumns };
	}

	async load(
		input: LoadInput,
		manifest: Manifest,
		days: LoadDay[],
		files: DayFiles,
	): Promise<number | undefined> {
		const { name } = input.table;
		const load = new ClickHouseLoad(
			this.#server,
			{ input, manifest, days, files },
			() => this.#requireSuitable(input),
			this.#context,
		);
		const loaded = await loadTable(load, name, this.#context.log);
		this.#ofView ??= loaded.words;
		return loaded.rows;
	}

	rowAccess(input: Pick<LoadInput, "run">, manifest: Manifest): RowAccess {
		const read = async function* (connection: Connection, query: string) {
			const lines = connection.lines(`${query} FORMAT JSONCompactEachRow`);
			for await (const line of lines) if (line !== "") yield JSON.parse(line);
		};
		return {
			dialect: {
				table: (name) => this.#sql.of(name),
				name: quoteName,
				text: quoteText,
				date: quoteText,
				// A column that was added later to a table has the value that is its type's default.
				isEmpty: (name) => `(${name} IS NULL OR ${name} = '')`,
				bodyDigest: (body) => `hex(SHA256(${body}))`,
			},
			tables: (options) => markedTables(this.#server, input, manifest, options),
			requireAllSeen: ({ name }) => requireAllSeen(this.#server, name),
			count: (table, condition) => countRows(this.#server, table, condition),
			change: async (table, statement) => {
				const rows = await countRows(this.#server, table, statement.condition);
				if (rows > 0)
					await mutate(
						this.#connection,
						this.#sql,
						table,
						statement,
						this.#context.signal,
					);
				return rows;
			},
			detached: ({ name }) => detachedParts(this.#server, name),
			read: (query) => read(this.#connection, query),
		};
	}

	/** Does on tables of its own what a Run does, and drops them: a right that is missing shows here. */
	async check(): Promise<void> {
		await this.#requireSuitable();
		const sql = this.#sql;
		await this.#dropChecked();
		const id = randomUUID();
		const table = `${checkPrefix}${Date.now()}-${id}`;
		const staging = `${table}-staging`;
		const columns = [
			{ name: "date", from: "Date" as const },
			{ name: "event_id", from: "EventID" as const },
		];
		const date = new Date().toISOString().slice(0, 10);
		const line = `${JSON.stringify({ date, event_id: id })}\n`;
		const run = this.#connection.run.bind(this.#connection);
		try {
			await run(
				sql.create(table, {
					columns: columns.slice(0, 1),
					orderBy: ["date"],
					comment: "A check of Tidemill, which drops it",
				}),
			);
			await run(sql.addColumns(table, columns));
			await run(sql.createLike(staging, table));
			await run(
				sql.insert(staging, columns, "JSONEachRow"),
				Readable.from([line]),
			);
			const sync = sql.sync(staging);
			if (sync !== undefined) await run(sync);
			await run(sql.replaceDay(date, table, staging));
			await run(sql.comment(table, "Checked by Tidemill, which drops it"));
			await this.#connection.rows(
				`SELECT count() AS rows FROM ${sql.of(table)}`,
			);
			await run(sql.exchange([table, staging]));
			await run(sql.dropDay(date, table));
		} finally {
			await run(sql.drop(staging));
			await run(sql.drop(table));
		}
	}

	/** Tables of checks that were killed. One that is under way began a moment ago. */
	async #dropChecked(): Promise<void> {
		for (const name of await namesWith(this.#server, checkPrefix)) {
			const begunMs = Number.parseInt(name.slice(checkPrefix.length), 10);
			if (begunMs < Date.now() - 3_600_000)
				await this.#connection.run(this.#sql.drop(name));
		}
	}

	/** Throws {@link JobFailure} for a server that can't be loaded into, or not with these columns. */
	async #requireSuitable(input?: LoadInput): Promise<ServerFacts> {
		this.#facts ??= serverFacts(this.#connection);
		const facts = await this.#facts;
		const isOfJson = input !== undefined && hasJSON(input.table.columns);
		requireSuitable(facts, this.#connection.input, isOfJson);
		return facts;
	}
}

export const open: WarehouseModule["open"] = async (input, context) =>
	new ClickHouseWarehouse(
		await Connection.open(input as ClickHouseInput, context),
		context,
	);

const longestPauseMs = 5_000;

/**
 * Changes or deletes rows, and returns once the table has changed. The server works by itself and is asked how far it is: a
 * statement that waits for it says nothing meanwhile, and a connection that is silent for a minute counts as lost.
 */
export async function mutate(
	connection: Connection,
	statements: Statements,
	table: string,
	change: RowStatement,
	signal: AbortSignal,
): Promise<void> {
	const ask = () => mutations(connection, table);
	const before = await ask();
	await connection.run(
		statements.mutate(table, change, { waits: before === undefined }),
	);
	if (!before) return;
	const isOld = new Set(before.map(({ id }) => id));
	let ours: Set<string> | undefined;
	for (let pauseMs = 20; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
		const now = (await ask())!.filter(({ id }) => !isOld.has(id));
		ours ??= new Set(now.map(({ id }) => id));
		const own = now.filter(({ id }) => ours!.has(id));
		if (own.length === 0 || own.length < ours.size)
			throw new ClickHouseFailure(
				"ClickHouseBusy",
				`A change of rows of ${table} was stopped`,
			);
		const reason = own.find(({ reason }) => reason !== "")?.reason;
		if (reason !== undefined) {
			const { what = "It doesn't say why" } = exceptionFailure(reason) ?? {};
			throw new ClickHouseFailure(
				"ClickHouseBusy",
				`Rows of ${table} can't be changed. ${what}`,
			);
		}
		if (own.every(({ isDone }) => isDone)) return;
		await delay(pauseMs, undefined, { signal });
	}
}

/** Undefined where a statement must wait: other replicas have theirs, and a user of a database alone may not read about any. */
async function mutations(
	connection: Connection,
	table: string,
): Promise<{ id: string; isDone: boolean; reason: string }[] | undefined> {
	const { database, engine } = connection.input;
	if (engine !== "MergeTree") return undefined;
	try {
		const found = await connection.rows<{
			mutation_id: string;
			is_done: number;
			latest_fail_reason: string;
		}>(
			`SELECT mutation_id, is_done, latest_fail_reason FROM system.mutations WHERE database = ${quoteText(database)} AND table = ${quoteText(table)}`,
		);
		return found.map(({ mutation_id, is_done, latest_fail_reason }) => ({
			id: mutation_id,
			isDone: Boolean(is_done),
			reason: latest_fail_reason,
		}));
	} catch (error) {
		if (error instanceof JobFailure && error.code === "PermissionDenied")
			return undefined;
		throw error;
	}
}
