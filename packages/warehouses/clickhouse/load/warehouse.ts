import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import type {
	ErasableTable,
	ErasingAccess,
} from "../../load/erasing-access.ts";
import { newColumns, type TableTypes } from "../../load/incompatibility.ts";
import {
	columnsBetween,
	latestSql,
	rewrittenWords,
	viewChange,
	viewMarkIn,
} from "../../load/latest-view.ts";
import type { HeldDate, LoadDay } from "../../load/load-day.ts";
import { oldestRecorded } from "../../load/load-record.ts";
import { readComment, writeComment } from "../../load/table-comment.ts";
import { ownerOf } from "../../load/table-owner.ts";
import type {
	DayFiles,
	Warehouse,
	WarehouseContext,
	WarehouseModule,
} from "../../load/warehouse.ts";
import type { ClickHouseInput } from "../input.ts";
import { Connection } from "./connection.ts";
import { mutate } from "./mutation.ts";
import {
	type ClickHousePlan,
	type ClickHouseTable,
	clickHouseUse,
	planClickHouse,
} from "./plan.ts";
import {
	createRecord,
	heldDate,
	noRows,
	recordedEntries,
	recordOf,
	rowsByDate,
} from "./record.ts";
import { blankOf, hasJSON, typeOf, wantedColumns } from "./schema.ts";
import { requireSuitable, type ServerFacts, serverFacts } from "./server.ts";
import {
	quoteName,
	quoteText,
	Statements,
	stagingPrefix,
	stagingPrefixOf,
	type WrittenView,
} from "./statements.ts";
import { ClickHouseLoad } from "./table-load.ts";

/** No Pipeline's table can have these names, as they have a hyphen. */
const checkPrefix = "_tidemill-check-";

/** What is undefined isn't done. */
interface ViewStatements {
	/** Just before the table changes, or comes. */
	before?: string | undefined;
	/** A view that takes its place together with the new table, since no view can be read beside both tables. */
	beside?: WrittenView;
	/** After all else. */
	after?: string | undefined;
	/** See {@link rewrittenWords}. */
	words?: string | undefined;
}

/** A database of ClickHouse. A staging table gives the table its days, each by one partition command, or takes its place. */
class ClickHouseWarehouse implements Warehouse {
	readonly #connection: Connection;
	readonly #sql: Statements;
	readonly #context: WarehouseContext;
	#facts: Promise<ServerFacts> | undefined;
	#ofView: string | undefined;

	constructor(connection: Connection, context: WarehouseContext) {
		this.#connection = connection;
		this.#sql = new Statements(connection.input);
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
		return this.#heldIn(await this.#find(input.table.name), input, manifest);
	}

	async requireUsable(input: LoadInput, manifest: Manifest): Promise<void> {
		await this.#requireSuitable(input);
		const existing = await this.#find(input.table.name);
		if (existing) clickHouseUse(input, manifest, existing);
	}

	async typesOf({ name }: LoadInput["table"]): Promise<TableTypes | undefined> {
		await this.#requireSuitable();
		const existing = await this.#find(name);
		return existing && { existing: existing.columns, wanted: wantedColumns };
	}

	async load(
		input: LoadInput,
		manifest: Manifest,
		days: LoadDay[],
		files: DayFiles,
	): Promise<number> {
		const { name } = input.table;
		const [existing] = await Promise.all([
			this.#find(name),
			this.#requireSuitable(input),
		]);
		const held = days.some(({ kept }) => kept)
			? await this.#heldIn(existing, input, manifest)
			: undefined;
		const plan = planClickHouse(input, manifest, days, existing, held);
		const view = await this.#viewStatements(input, plan, existing);
		await Promise.all([
			this.#dropStaging(name),
			plan.record !== undefined &&
				this.#connection.run(createRecord(this.#sql)),
		]);
		const load = new ClickHouseLoad(
			this.#connection,
			this.#sql,
			{ input, manifest, files },
			this.#context,
		);
		const requireOurs = async () => {
			const now = await this.#find(name);
			if (now) clickHouseUse(input, manifest, now);
			if (view.before !== undefined) await this.#connection.run(view.before);
		};
		if (view.words !== undefined)
			this.#context.log.warn({ table: name }, view.words);
		await load.carryOut(plan, days, requireOurs, view.beside);
		// Of the columns that the table has now.
		if (view.after !== undefined) await this.#connection.run(view.after);
		this.#ofView ??= view.words;
		return this.#count(name);
	}

	async #count(table: string, condition?: string): Promise<number> {
		const where = condition === undefined ? "" : ` WHERE ${condition}`;
		const [all] = await this.#connection.rows<{ rows: string }>(
			`SELECT toString(count()) AS rows FROM ${this.#sql.of(table)}${where}`,
		);
		return Number(all!.rows);
	}

	erasing(input: Pick<LoadInput, "run">, manifest: Manifest): ErasingAccess {
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
			tables: () => this.#marked(input, manifest),
			count: (table, condition) => this.#count(table, condition),
			change: async (table, statement) => {
				const rows = await this.#count(table, statement.condition);
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
			read: (query) => read(this.#connection, query),
		};
	}

	/** The tables that loads of the Pipeline have marked, with the columns whose values the server doesn't make itself. */
	async #marked(
		input: Pick<LoadInput, "run">,
		manifest: Manifest,
	): Promise<ErasableTable[]> {
		const { database } = this.#connection.input;
		const where = `WHERE database = ${quoteText(database)}`;
		const tables = (
			await this.#connection.rows<{ name: string; comment: string }>(
				`SELECT name, comment FROM system.tables ${where} AND endsWith(engine, 'MergeTree') AND comment <> '' AND NOT startsWith(name, ${quoteText(stagingPrefix)}) ORDER BY name`,
			)
		).filter(({ comment }) => {
			const { mark } = readComment(comment);
			return ownerOf(mark, input, manifest) === "Ours";
		});
		if (tables.length === 0) return [];
		// Those of killed loads hold events, and a table that none loads has no next one that drops them.
		for (const { name } of tables) await this.#dropStaging(name);
		const names = tables.map(({ name }) => quoteText(name)).join(", ");
		const columns = await this.#connection.rows<{
			table: string;
			name: string;
			type: string;
			comment: string;
			key: number;
		}>(
			`SELECT table, name, type, comment, is_in_partition_key OR is_in_sorting_key OR is_in_primary_key OR is_in_sampling_key AS key FROM system.columns ${where} AND table IN (${names}) AND default_kind IN ('', 'DEFAULT') ORDER BY position`,
		);
		return tables.map(({ name }) => ({
			name,
			columns: columns
				.filter(({ table }) => table === name)
				.map(({ name, type, comment, key }) => ({
					...{ name, type, comment },
					// No mutation changes a key (clickhouse.com/docs/sql-reference/statements/alter/update).
					blank: key ? undefined : blankOf(type),
				})),
		}));
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
		for (const name of await this.#namesWith(checkPrefix)) {
			const begunMs = Number.parseInt(name.slice(checkPrefix.length), 10);
			if (begunMs < Date.now() - 3_600_000)
				await this.#connection.run(this.#sql.drop(name));
		}
	}

	async #namesWith(prefix: string): Promise<string[]> {
		const { database } = this.#connection.input;
		const found = await this.#connection.rows<{ name: string }>(
			`SELECT name FROM system.tables WHERE database = ${quoteText(database)} AND startsWith(name, ${quoteText(prefix)})`,
		);
		return found.map(({ name }) => name);
	}

	/** Throws {@link JobFailure} for a server that can't be loaded into, or not with these columns. */
	async #requireSuitable(input?: LoadInput): Promise<void> {
		this.#facts ??= serverFacts(this.#connection);
		requireSuitable(
			await this.#facts,
			this.#connection.input,
			input !== undefined && hasJSON(input.table.columns),
		);
	}

	async #find(table: string): Promise<ClickHouseTable | undefined> {
		const { database } = this.#connection.input;
		const where = `WHERE database = ${quoteText(database)}`;
		const [[found], columns] = await Promise.all([
			this.#connection.rows<{
				engine: string;
				comment: string;
				partition_key: string;
				sorting_key: string;
			}>(
				`SELECT engine, comment, partition_key, sorting_key FROM system.tables ${where} AND name = ${quoteText(table)}`,
			),
			this.#connection.rows<{ name: string; type: string; comment: string }>(
				`SELECT name, type, comment FROM system.columns ${where} AND table = ${quoteText(table)} ORDER BY position`,
			),
		]);
		if (!found) return undefined;
		const {
			engine,
			comment,
			partition_key: partitionKey,
			sorting_key: sortingKey,
		} = found;
		const isTable = engine.endsWith("MergeTree");
		const rows = isTable
			? await this.#connection.rows(
					`SELECT 1 FROM ${this.#sql.of(table)} LIMIT 1`,
				)
			: [];
		return {
			columns,
			comment: readComment(comment),
			isEmpty: rows.length === 0,
			engine,
			partitionKey,
			sortingKey,
		};
	}

	/** What the table holds of the manifest's dates; undefined if it has no record about these columns and this Source. */
	async #heldIn(
		existing: ClickHouseTable | undefined,
		input: LoadInput,
		manifest: Manifest,
	): Promise<Map<UtcDate, HeldDate> | undefined> {
		const mark = existing && clickHouseUse(input, manifest, existing).mark;
		if (
			mark?.record === undefined ||
			recordOf(input, manifest, mark) !== mark.record
		)
			return undefined;
		if (newColumns(existing!.columns, input.table.columns).length > 0)
			return undefined;
		const { name, columns } = input.table;
		const dates = manifest.dates.map(({ date }) => date);
		if (dates.length === 0) return new Map();
		await this.#connection.run(createRecord(this.#sql));
		const entries = await recordedEntries(
			this.#connection,
			this.#sql,
			name,
			mark.record,
			dates,
		);
		const rows = await rowsByDate(
			this.#connection,
			this.#sql.of(name),
			columns,
			dates,
		);
		const held = new Map<UtcDate, HeldDate>();
		for (const date of dates) {
			const found = heldDate(
				rows.get(date) ?? noRows,
				entries.get(date) ?? [],
				date < oldestRecorded(manifest),
			);
			if (found) held.set(date, found);
		}
		return held;
	}

	/**
	 * How the view of the table's latest rows changes, so that it can be read whenever the table can.
	 * Throws what {@link viewChange} throws.
	 */
	async #viewStatements(
		input: LoadInput,
		{ publish }: ClickHousePlan,
		existing: ClickHouseTable | undefined,
	): Promise<ViewStatements> {
		const { name, columns, latest } = input.table;
		if (!latest) return {};
		const { database } = this.#connection.input;
		const selectOf = (columns: readonly TableColumn[]) => {
			const { all, key, newest } = latestSql(columns, latest, quoteName);
			return `SELECT ${all} FROM ${this.#sql.of(name)} ORDER BY ${newest} LIMIT 1 BY ${key}`;
		};
		const hasView = latest.by.length > 0;
		// Who copies SHOW CREATE, comment and all, changes the query and leaves the mark.
		const asMade = hasView
			? `ifNull(formatQuerySingleLineOrNull(as_select) = formatQuerySingleLine(${quoteText(selectOf(columns))}), false)`
			: "true";
		const [found] = await this.#connection.rows<{
			engine: string;
			comment: string;
			as_made: boolean | number;
		}>(
			`SELECT engine, comment, ${asMade} AS as_made FROM system.tables` +
				` WHERE database = ${quoteText(database)} AND name = ${quoteText(latest.name)}`,
		);
		const isView = found?.engine === "View";
		const changeTo = (columns: readonly TableColumn[], isStale: boolean) => {
			const select = hasView ? selectOf(columns) : "";
			const change = viewChange(
				input,
				found && {
					kind: isView ? "view" : `table of the engine ${found.engine}`,
					mark: isView ? viewMarkIn(found.comment) : undefined,
					isAsMade: Boolean(found.as_made),
				},
				// The server keeps the types of a view's columns.
				[select, columns.map(typeOf)],
				isStale,
			);
			if (change?.do !== "Write") return change;
			const comment = writeComment(change.words, change.mark);
			return { ...change, select, comment };
		};
		const between =
			isView && existing && hasView && publish === "Exchange"
				? columnsBetween(input.table, existing.columns, wantedColumns(columns))
				: undefined;
		const isBetween = between !== undefined && between !== "NoKey";
		const before = isBetween ? changeTo(between, true) : undefined;
		const change = changeTo(columns, isBetween);
		if (!change) return {};
		if (change.do === "Drop") return { after: this.#sql.dropView(change.name) };
		const words = rewrittenWords(change);
		const how = { isThere: isView };
		// The view that is there may name columns that the new table lacks.
		if (isView && publish === "Rename")
			return {
				before: this.#sql.writeView(change, { ...how, columns }),
				words,
			};
		const { databaseEngine } = await this.#facts!;
		if (between === "NoKey" && databaseEngine === "Atomic")
			return { beside: change, words };
		return {
			before:
				before?.do === "Write" ? this.#sql.writeView(before, how) : undefined,
			after: this.#sql.writeView(change, how),
			words,
		};
	}

	/** What earlier attempts and Runs left. One that still runs fails then, and changes nothing. */
	async #dropStaging(table: string): Promise<void> {
		for (const name of await this.#namesWith(stagingPrefixOf(table)))
			await this.#connection.run(this.#sql.drop(name));
	}
}

export const open: WarehouseModule["open"] = async (input, context) =>
	new ClickHouseWarehouse(
		await Connection.open(input as ClickHouseInput, context),
		context,
	);
