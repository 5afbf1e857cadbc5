import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import {
	allComments,
	asFilled,
	type ColumnComment,
	missingComments,
} from "../../load/columns.ts";
import type { HeldDate, LoadDay } from "../../load/load-day.ts";
import {
	type CommentedTable,
	incompatibility,
	planTable,
	type TableType,
} from "../../load/table-plan.ts";
import { requireSameRows } from "../../load/warehouse.ts";
import type { ClickHouseTableOptions } from "../definition.ts";
import {
	dateColumn,
	defaultOrder,
	digestSql,
	type NewTable,
	typeOf,
	wantedColumns,
} from "./statements.ts";

/** The table as a load finds it. */
export interface ClickHouseTable extends CommentedTable {
	isEmpty: boolean;
	/** Such as `MergeTree` or `View`. */
	engine: string;
	/** As the server writes them, such as `date, timestamp`; empty for none. */
	partitionKey: string;
	sortingKey: string;
	/** As the server writes it; undefined for none. */
	ttl: string | undefined;
	/** The instants at which columns lose their values, as expressions. */
	columnTTLs: string[];
	/** Names of the materialized views that read its inserts. */
	fedViews: string[];
}

/** What a load does: it fills a staging table, which then replaces the whole table or gives it partitions. */
export interface ClickHousePlan {
	/** Without an existing table, the staging table gets its name. */
	publish: "Partitions" | "Exchange" | "Rename";
	/** The staging table; undefined for one like the existing table. */
	staging: NewTable | undefined;
	/** Columns that the existing table gets first. */
	added: TableColumn[];
	/** On columns of the existing table that lack one, if the staging table is like it. */
	comments: ColumnComment[];
	/** Comments on the table while rows change, and afterwards. */
	during: string;
	after: string;
	/** Names what is recorded about the table's rows; undefined for nothing. */
	record: string | undefined;
	/** Whose entries it takes over. */
	former: string | undefined;
}

/**
 * Decides how the days get into the table.
 * @param existing undefined when there is no table.
 * @param held What the table holds of days that keep rows, now.
 * Throws {@link JobFailure} for what {@link useOf} refuses, and TableIncomplete if the table would lack days afterwards;
 * {@link TableChanged} if rows that a day keeps aren't what they were.
 */
export function planClickHouse(
	input: LoadInput,
	manifest: Manifest,
	days: LoadDay[],
	existing: ClickHouseTable | undefined,
	held?: ReadonlyMap<UtcDate, HeldDate>,
): ClickHousePlan {
	const { name, columns } = input.table;
	const plan = planTable(clickHouseTables, input, manifest, existing);
	const { isNew, replaces, commented, kept, record, former } = plan;
	requireSameRows(name, days, kept && held);
	return {
		publish: !existing ? "Rename" : replaces ? "Exchange" : "Partitions",
		staging: isNew
			? {
					columns,
					orderBy: orderOf(input),
					comment: plan.after,
					comments: allComments(columns, commented),
				}
			: undefined,
		added: plan.added,
		comments: isNew ? [] : missingComments(columns, commented),
		during: plan.during(former === undefined ? kept?.record : record),
		after: plan.after,
		record,
		former,
	};
}

function orderOf({
	table: { columns, options },
}: Pick<LoadInput, "table">): readonly string[] {
	const { orderBy }: ClickHouseTableOptions = options ?? {};
	return orderBy ?? defaultOrder(columns);
}

export const clickHouseTables: TableType<ClickHouseTable> = {
	found(existing, input) {
		const { engine, isEmpty, comment } = existing;
		const isTable = engine.endsWith("MergeTree");
		return {
			mark: isTable ? comment.mark : undefined,
			otherKind: isTable ? undefined : engine,
			isEmpty: isTable && isEmpty,
			incompatibility: incompatibilityOf(existing, input),
		};
	},
	filling: ({ columns }) => [
		asFilled(columns).map((column) => [column, typeOf(column)]),
		digestSql(columns),
	],
};

function incompatibilityOf(
	{
		columns: found,
		comment,
		engine,
		partitionKey,
		sortingKey,
	}: ClickHouseTable,
	{ table: { columns, options }, strategy }: LoadInput,
): string | undefined {
	if (!engine.endsWith("MergeTree")) return `it is a ${engine}`;
	// The others merge rows that have the same key into one.
	if (!["MergeTree", "ReplicatedMergeTree", "SharedMergeTree"].includes(engine))
		return `its engine is ${engine}, which doesn't keep every row`;
	const reason = incompatibility(
		found,
		wantedColumns(columns),
		strategy,
		comment.mark !== undefined,
	);
	if (reason !== undefined) return reason;
	const { orderBy }: ClickHouseTableOptions = options ?? {};
	const wantedOrder = orderBy?.join(", ");
	if (wantedOrder !== undefined && namesOf(sortingKey) !== wantedOrder)
		return `it is sorted by (${sortingKey}), and spec.table.clickHouse.orderBy is (${wantedOrder})`;
	const date = dateColumn(columns);
	if (date === undefined)
		return partitionKey === ""
			? undefined
			: `it is partitioned by ${partitionKey}, and a full reload would undo that`;
	return namesOf(partitionKey) === date
		? undefined
		: `it is not partitioned by "${date}"`;
}

/** A key's names as the server writes them, which may be in parentheses. */
function namesOf(key: string): string {
	return key.replaceAll(/[`()]/g, "");
}
