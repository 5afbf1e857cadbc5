import { createHash, randomBytes } from "node:crypto";
import type { TableColumn } from "../../../contracts/job.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import type { ColumnComment } from "../../load/columns.ts";
import type { WantedColumn } from "../../load/table-plan.ts";
import { assignmentsSql, type RowStatement } from "../../load/warehouse.ts";
import type { ClickHouseInput } from "../definition.ts";

/** An identifier: any name. ClickHouse has backslash escapes in it (clickhouse.com/docs/sql-reference/syntax#identifiers). */
export function quoteName(name: string): string {
	return `\`${name.replace(/[\\`]/g, "\\$&")}\``;
}

export function quoteText(text: string): string {
	return `'${text.replace(/[\\']/g, "\\$&")}'`;
}

/** What a new table is, beside its name. */
export interface NewTable {
	columns: readonly TableColumn[];
	/** Names of columns. */
	orderBy: readonly string[];
	comment: string;
	/** On its columns. */
	comments?: readonly ColumnComment[];
}

/** A view as a statement writes it. */
export interface WrittenView {
	name: string;
	select: string;
	comment: string;
}

/** The statements about the tables of one database, in which each name has the database before it. */
export class Statements {
	readonly #database: string;
	readonly onCluster: string;
	readonly engine: string;

	constructor({
		database,
		cluster,
		engine,
	}: Pick<ClickHouseInput, "database" | "cluster" | "engine">) {
		this.#database = database;
		this.onCluster =
			cluster === undefined ? "" : ` ON CLUSTER ${quoteText(cluster)}`;
		this.engine = engine;
	}

	/** A replicated table takes one at a time that waits for a quorum (`insert_quorum_parallel`, see connection.ts). */
	get insertsAtOnce(): number {
		return this.engine === "MergeTree" ? 3 : 1;
	}

	of(table: string): string {
		return `${quoteName(this.#database)}.${quoteName(table)}`;
	}

	create(
		table: string,
		{ columns, orderBy, comment, comments = [] }: NewTable,
	): string {
		const words = new Map(comments.map(({ name, comment }) => [name, comment]));
		const date = dateColumn(columns);
		const isNullable = columns.some(
			(column) =>
				orderBy.includes(column.name) && typeOf(column).startsWith("Nullable"),
		);
		return [
			`CREATE TABLE ${this.of(table)}${this.onCluster} (${columns.map((column) => definition(column, words.get(column.name))).join(", ")})`,
			`ENGINE = ${this.engine}`,
			...(date === undefined ? [] : [`PARTITION BY ${quoteName(date)}`]),
			`ORDER BY ${orderBy.length === 1 ? quoteName(orderBy[0]!) : `tuple(${orderBy.map(quoteName).join(", ")})`}`,
			...(isNullable ? ["SETTINGS allow_nullable_key = 1"] : []),
			`COMMENT ${quoteText(comment)}`,
		].join("\n");
	}

	/** With the columns, keys, indexes, projections and settings that people gave the table. */
	createLike(table: string, like: string): string {
		return `CREATE TABLE ${this.of(table)}${this.onCluster} AS ${this.of(like)}`;
	}

	/** No merge takes rows of it then, so that they can be counted. */
	removeTTL(table: string): string {
		return `ALTER TABLE ${this.of(table)}${this.onCluster} REMOVE TTL`;
	}

	/** The rows that are there meet it with their next merge. */
	modifyTTL(table: string, ttl: string): string {
		return `ALTER TABLE ${this.of(table)}${this.onCluster} MODIFY TTL ${ttl} SETTINGS materialize_ttl_after_modify = 0`;
	}

	addColumns(table: string, columns: readonly TableColumn[]): string {
		const added = columns.map(
			(column) => `ADD COLUMN IF NOT EXISTS ${definition(column)}`,
		);
		return `ALTER TABLE ${this.of(table)}${this.onCluster} ${added.join(", ")}`;
	}

	comment(table: string, text: string): string {
		return `ALTER TABLE ${this.of(table)}${this.onCluster} MODIFY COMMENT ${quoteText(text)}`;
	}

	commentColumns(table: string, comments: readonly ColumnComment[]): string {
		const changes = comments.map(
			({ name, comment }) =>
				`COMMENT COLUMN ${quoteName(name)} ${quoteText(comment)}`,
		);
		return `ALTER TABLE ${this.of(table)}${this.onCluster} ${changes.join(", ")}`;
	}

	insert(
		table: string,
		columns: readonly { name: string }[],
		format: string,
	): string {
		return `INSERT INTO ${this.of(table)} (${columns.map(({ name }) => quoteName(name)).join(", ")}) FORMAT ${format}`;
	}

	/** A replicated table's parts come to each server in its own time. Undefined where that can't be. */
	sync(table: string): string | undefined {
		return this.engine === "MergeTree"
			? undefined
			: `SYSTEM SYNC REPLICA ${this.of(table)}`;
	}

	/** Adds a day's rows to those of another table, by links to the same files. */
	attachDay(date: UtcDate, table: string, from: string): string {
		return `ALTER TABLE ${this.of(table)} ATTACH PARTITION ${quoteText(date)} FROM ${this.of(from)}`;
	}

	/** Readers see the old rows of the day or the new ones (clickhouse.com/docs/sql-reference/statements/alter/partition#replace-partition). */
	replaceDay(date: UtcDate, table: string, from: string): string {
		return `ALTER TABLE ${this.of(table)} REPLACE PARTITION ${quoteText(date)} FROM ${this.of(from)}`;
	}

	dropDay(date: UtcDate, table: string): string {
		return `ALTER TABLE ${this.of(table)} DROP PARTITION ${quoteText(date)}`;
	}

	/**
	 * Changes or deletes rows, each part of the table as a whole
	 * (clickhouse.com/docs/sql-reference/statements/alter#mutations). One that is interrupted goes on by itself.
	 * @param how whether the statement waits until all replicas have changed.
	 */
	mutate(
		table: string,
		{ condition, assignments }: RowStatement,
		{ waits }: { waits: boolean },
	): string {
		const change = assignments
			? `UPDATE ${assignmentsSql(assignments)}`
			: "DELETE";
		return `ALTER TABLE ${this.of(table)}${this.onCluster} ${change} WHERE ${condition} SETTINGS mutations_sync = ${waits ? 2 : 0}`;
	}

	/**
	 * @param how whether it takes the place of one (clickhouse.com/docs/sql-reference/statements/create/view), and the columns
	 * of a view whose table isn't there yet or has others: the server asks for none, then.
	 */
	writeView(
		{ name, select, comment }: WrittenView,
		{
			isThere,
			columns,
		}: { isThere: boolean; columns?: readonly TableColumn[] },
	): string {
		const list = columns
			? ` (${columns.map((column) => definition(column)).join(", ")})`
			: "";
		return `CREATE ${isThere ? "OR REPLACE " : ""}VIEW ${this.of(name)}${this.onCluster}${list} AS ${select} COMMENT ${quoteText(comment)}`;
	}

	dropView(view: string): string {
		return `DROP VIEW IF EXISTS ${this.of(view)}${this.onCluster} SYNC`;
	}

	/** Pairs of tables or views, one right after the other. Databases that are replicated take one pair only. */
	exchange(
		...pairs: readonly (readonly [one: string, other: string])[]
	): string {
		const list = pairs.map(
			([one, other]) => `${this.of(one)} AND ${this.of(other)}`,
		);
		return `EXCHANGE TABLES ${list.join(", ")}${this.onCluster}`;
	}

	rename(from: string, to: string): string {
		return `RENAME TABLE ${this.of(from)} TO ${this.of(to)}${this.onCluster}`;
	}

	drop(table: string): string {
		return `DROP TABLE IF EXISTS ${this.of(table)}${this.onCluster} SYNC`;
	}
}

function definition(column: TableColumn, comment?: string): string {
	const words = comment === undefined ? "" : ` COMMENT ${quoteText(comment)}`;
	return `${quoteName(column.name)} ${typeOf(column)}${words}`;
}

/** No Pipeline's table can have these names, as they have a hyphen. */
export const stagingPrefix = "_tidemill-staging-";

/**
 * A staging table of one attempt. Whoever loads the table next drops it first, so what a killed or paused process would still
 * do with it fails.
 */
export function newStagingName(table: string): string {
	return `${stagingPrefixOf(table)}${randomBytes(6).toString("hex")}`;
}

export function stagingPrefixOf(table: string): string {
	const digest = createHash("sha256").update(table).digest("hex");
	return `${stagingPrefix}${digest.slice(0, 16)}-`;
}

/** The TTL of a table's engine as system.tables has it, outside of names and texts; undefined for none. */
export function ttlOf(engineFull: string): string | undefined {
	const quoted = "'(?:[^'\\\\]|\\\\.)*'|`(?:[^`\\\\]|\\\\.)*`";
	const [, ttl] =
		new RegExp(
			`^(?:[^'\`]|${quoted})*? TTL ((?:[^'\`]|${quoted})*?)(?: SETTINGS .*)?$`,
			"s",
		).exec(engineFull) ?? [];
	return ttl;
}

/** The TTLs of columns, in the statement that would create their table. */
export function columnTTLsOf(create: string): string[] {
	const columns = listed(create.slice(create.indexOf("(`") + 1));
	return columns.flatMap((column) => ttlOf(column) ?? []);
}

/** What stands between commas that are outside of names, texts and parentheses, up to one that closes the list. */
function listed(text: string): string[] {
	const parts: string[] = [];
	let depth = 0;
	let part = "";
	for (const [token] of text.matchAll(
		/'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|./gs,
	)) {
		if (token === "(") depth++;
		if (token === ")" && --depth < 0) break;
		if (token === "," && depth === 0) {
			parts.push(part);
			part = "";
		} else part += token;
	}
	return [...parts, part];
}

/** The instants at which a TTL deletes rows, as expressions of their columns. */
export function deletionsOf(ttl: string): string[] {
	return listed(ttl)
		.filter((text) => !/ (TO (DISK|VOLUME)|RECOMPRESS|GROUP BY) /.test(text))
		.map((text) => text.replace(/( DELETE)?( WHERE .*)?$/s, "").trim());
}

export function datesSql(dates: readonly UtcDate[]): string {
	return dates.map(quoteText).join(", ");
}

/**
 * An aggregate over rows in any order, which changes if a row is deleted, inserted or changed. As a tuple, since the hash of a
 * NULL would be NULL.
 */
export function digestSql(columns: readonly TableColumn[]): string {
	const values = columns.map((column) => {
		const name = quoteName(column.name);
		// A JSON object's text has its members in one order, whatever part of the table has it.
		return typeOf(column) === "Nullable(JSON)" ? `toString(${name})` : name;
	});
	return `toString(sum(cityHash64(tuple(${values.join(", ")}))))`;
}

/** What a column of a table has in ClickHouse, in the server's own spelling (system.columns). */
export function typeOf({ from }: TableColumn): string {
	switch (from) {
		case "EventID":
		case "Body":
			return "String";
		case "Timestamp":
			return instant;
		case "Date":
			return "Date";
		case "Violations":
		case "Run":
			return "Nullable(String)";
		case "LoadedAt":
			return `Nullable(${instant})`;
		default:
			if (!("bodyPointer" in from)) return "Nullable(String)";
			return from.type === "Decimal"
				? `Nullable(Decimal(${from.precision}, ${from.scale}))`
				: `Nullable(${types[from.type]})`;
	}
}

/** What says nothing in a column of a type, in SQL. Types that aren't Nullable have a value for it, which every type knows. */
export function blankOf(type: string): string {
	return /^(LowCardinality\()?Nullable\(/.test(type)
		? "NULL"
		: `defaultValueOfTypeName('${type.replace(/[\\']/g, "\\$&")}')`;
}

const instant = "DateTime64(6, 'UTC')";

const types = {
	String: "String",
	Integer: "Int64",
	Number: "Float64",
	Boolean: "Bool",
	Timestamp: instant,
	// Date holds 1970 to 2149 only.
	Date: "Date32",
	JSON: "JSON",
} as const;

export function wantedColumns(columns: readonly TableColumn[]): WantedColumn[] {
	return columns.map((column) => ({ ...column, type: typeOf(column) }));
}

export function hasJSON(columns: readonly TableColumn[]): boolean {
	return columns.some((column) => typeOf(column) === "Nullable(JSON)");
}

export function dateColumn(
	columns: readonly TableColumn[],
): string | undefined {
	return columns.find(({ from }) => from === "Date")?.name;
}

/** By which the rows are sorted if the Pipeline doesn't say. */
export function defaultOrder(columns: readonly TableColumn[]): string[] {
	return (["Date", "Timestamp", "EventID"] as const).flatMap(
		(from) => columns.find((column) => column.from === from)?.name ?? [],
	);
}
