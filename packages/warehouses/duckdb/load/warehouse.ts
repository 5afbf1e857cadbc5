import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import { memoryForWideTables, vectorRoom } from "../../../duckdb/memory.ts";
import { quoteName, quoteText } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import { defineBodyMatch, meantSql } from "../../load/body-values.ts";
import {
	areWide,
	bodyColumnsOf,
	limitWriters,
	readComment,
} from "../../load/columns.ts";
import { JobFailure } from "../../load/failure.ts";
import type { LoadDay } from "../../load/load-day.ts";
import { loadTable } from "../../load/load-table.ts";
import { ownerOf } from "../../load/table-mark.ts";
import { type TableTypes, useOfTable } from "../../load/table-plan.ts";
import {
	type MarkedTable,
	type RowAccess,
	type RowDialect,
	statementSql,
	type Warehouse,
	type WarehouseContext,
	type WarehouseModule,
} from "../../load/warehouse.ts";
import { withDestinationFile } from "./destination-file.ts";
import { duckDBHeld, firstNoted, type KnownDates } from "./known-dates.ts";
import { vectorBytes } from "./large-rows.ts";
import {
	type DuckDBTable,
	duckDBTables,
	planLoad,
	viewSteps,
	wantedColumns,
} from "./plan.ts";
import { dropStaged } from "./staged-table.ts";
import { DuckDBLoad } from "./transaction.ts";

const dialect: RowDialect = {
	table: quoteName,
	name: quoteName,
	text: quoteText,
	date: (date) => `DATE ${quoteText(date)}`,
	bodyHas: meantSql,
};

/** Short, so that a reader of the file doesn't keep a check waiting for a minute. */
const checkWaitMs = 5_000;

/** A DuckDB file on a volume. One transaction of a load changes the table, so it is either the old one or the new one. */
class DuckDBWarehouse implements Warehouse {
	readonly #path: string;
	readonly #context: WarehouseContext;
	/** While the file is open for several calls. */
	#opened: { session: Session; known: KnownDates } | undefined;

	constructor(path: string, context: WarehouseContext) {
		this.#path = path;
		this.#context = context;
	}

	held(input: LoadInput, manifest: Manifest) {
		return this.#with(async (session, known) => {
			const existing = await existingTable(input.table.name, session);
			return duckDBHeld(input, manifest, existing, session, known);
		});
	}

	requireUsable(input: LoadInput, manifest: Manifest): Promise<void> {
		return this.#with(async (session) => {
			const existing = await existingTable(input.table.name, session);
			if (existing) useOfTable(duckDBTables, input, manifest, existing);
		});
	}

	typesOf({ name }: LoadInput["table"]): Promise<TableTypes | undefined> {
		return this.#with(async (session) => {
			const existing = await existingTable(name, session);
			return existing && { existing: existing.columns, wanted: wantedColumns };
		});
	}

	async load(
		input: LoadInput,
		manifest: Manifest,
		days: LoadDay[],
	): Promise<number | undefined> {
		return this.#with(async (session, known) => {
			// A load before in this session may have set it for its own rows.
			await session.run("RESET disabled_compression_methods");
			const { columns } = input.table;
			if (areWide(columns)) {
				const settings = Object.entries(memoryForWideTables());
				for (const [name, value] of settings)
					await session.run(`SET ${name} = ${quoteText(value)}`);
			}
			await dropStaged(session);
			const room = vectorRoom();
			const objects = days.flatMap(({ objects }) => objects);
			// Bodies alone pass from a file into the table; values of them are made.
			if (bodyColumnsOf(columns).length > 0)
				await limitWriters(session, objects, columns);
			const isStaged = vectorBytes(objects, columns) > room;
			const planned = async () => {
				const existing = await existingTable(input.table.name, session);
				const held = days.some(({ kept }) => kept)
					? await duckDBHeld(input, manifest, existing, session, known)
					: undefined;
				const plan = planLoad(input, manifest, days, existing, held, isStaged);
				const view = await viewSteps(input, session);
				return { ...plan, steps: [...plan.steps, ...view] };
			};
			const { log } = this.#context;
			const load = new DuckDBLoad(planned, session, log, isStaged);
			const { name } = input.table;
			const { rows } = await loadTable(load, name, log);
			const dates = load.recorded?.digests.keys();
			if (dates) known.add(name, dates, firstNoted(manifest));
			return rows;
		});
	}

	rowAccess(input: Pick<LoadInput, "run">, manifest: Manifest): RowAccess {
		return {
			dialect,
			tables: () => this.#with((session) => marked(input, manifest, session)),
			count: (table, condition) =>
				this.#with(async (session) => {
					defineBodyMatch(session);
					const [all] = await session.rows<{ rows: bigint }>(
						`SELECT count(*) AS rows FROM ${quoteName(table)} WHERE ${condition}`,
					);
					return Number(all?.rows);
				}),
			change: (table, statement) =>
				this.#with((session, known) => {
					defineBodyMatch(session);
					known.forget(table);
					return session.run(statementSql(quoteName(table), statement));
				}),
		};
	}

	together<T>(work: () => Promise<T>): Promise<T> {
		return this.#with(async (session, known) => {
			this.#opened = { session, known };
			try {
				return await work();
			} finally {
				this.#opened = undefined;
			}
		});
	}

	#with<T>(
		work: (session: Session, known: KnownDates) => Promise<T>,
	): Promise<T> {
		return this.#opened
			? work(this.#opened.session, this.#opened.known)
			: withDestinationFile(this.#path, this.#context, work);
	}

	/**
	 * Opens or creates the file, commits a table, and drops it. A file in use passes: the process that has it open could
	 * read it, and every Run waits for the file itself.
	 */
	async check(): Promise<void> {
		const { busyWaitMs, log } = this.#context;
		try {
			await withDestinationFile(
				this.#path,
				{ ...this.#context, busyWaitMs: Math.min(checkWaitMs, busyWaitMs) },
				async (session) => {
					// A check that was killed may have left one. No Pipeline's table has a hyphen in its name.
					const probe = quoteName("_tidemill-check");
					await session.run(
						`CREATE OR REPLACE TABLE ${probe} (written TIMESTAMPTZ)`,
					);
					await session.run(`DROP TABLE ${probe}`);
					await session.run("CHECKPOINT");
				},
			);
		} catch (error) {
			if (!(error instanceof JobFailure) || error.code !== "DestinationBusy")
				throw error;
			log.info("the DuckDB file is in use, so the check did not write to it");
		}
	}
}

export const open: WarehouseModule["open"] = ({ path }, context) =>
	new DuckDBWarehouse(path as string, context);

async function existingTable(
	table: string,
	session: Session,
): Promise<DuckDBTable | undefined> {
	const isTable = `database_name = current_database() AND schema_name = current_schema() AND lower(table_name) = lower(${quoteText(table)})`;
	const columns = await session.rows<{
		name: string;
		type: string;
		comment: string | null;
	}>(
		`SELECT column_name AS name, data_type AS type, comment FROM duckdb_columns() WHERE ${isTable} ORDER BY column_index`,
	);
	if (columns.length === 0) return undefined;
	// A view has no row here.
	const [found] = await session.rows<{ comment: string | null }>(
		`SELECT comment FROM duckdb_tables() WHERE ${isTable}`,
	);
	const isView = found === undefined;
	const guards = await session.rows<{ what: string }>(
		`SELECT 'index ' || index_name AS what FROM duckdb_indexes() WHERE ${isTable} UNION ALL SELECT constraint_type || ' (' || array_to_string(constraint_column_names, ', ') || ')' FROM duckdb_constraints() WHERE ${isTable} ORDER BY 1 LIMIT 10`,
	);
	return {
		columns,
		comment: readComment(found?.comment ?? ""),
		isEmpty: !isView && (await isEmpty(table, session)),
		isView,
		guards: guards.map(({ what }) => what),
	};
}

/** The tables that loads of the Pipeline have marked, with their columns. */
async function marked(
	input: Pick<LoadInput, "run">,
	manifest: Manifest,
	session: Session,
): Promise<MarkedTable[]> {
	const here =
		"database_name = current_database() AND schema_name = current_schema()";
	const tables = await session.rows<{
		name: string;
		comment: string | null;
		sql: string;
	}>(
		`SELECT table_name AS name, comment, sql FROM duckdb_tables() WHERE ${here} ORDER BY name`,
	);
	const columns = await session.rows<{
		table: string;
		name: string;
		type: string;
		comment: string | null;
		isNullable: boolean;
	}>(
		`SELECT table_name AS "table", column_name AS name, data_type AS type, comment, is_nullable AS "isNullable" FROM duckdb_columns() WHERE ${here} ORDER BY column_index`,
	);
	return tables
		.filter(({ comment }) => {
			const { mark } = readComment(comment ?? "");
			return ownerOf(mark, input, manifest) === "Ours";
		})
		.map(({ name, sql }) => ({
			name,
			columns: columns
				.filter((column) => column.table === name && !isComputed(column, sql))
				.map(({ name, type, comment, isNullable }) => ({
					...{ name, type, comment },
					blank: isNullable ? "NULL" : undefined,
				})),
		}));
}

/** Only the statement that would create the table tells. */
function isComputed(
	{ name, type }: { name: string; type: string },
	sql: string,
): boolean {
	return [name, quoteName(name)].some((written) =>
		["(", ", "].some((before) =>
			sql.includes(`${before}${written} ${type} GENERATED ALWAYS AS(`),
		),
	);
}

async function isEmpty(table: string, session: Session): Promise<boolean> {
	const rows = await session.rows(
		`SELECT 1 AS one FROM ${quoteName(table)} LIMIT 1`,
	);
	return rows.length === 0;
}
