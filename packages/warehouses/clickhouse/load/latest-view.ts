import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import { writeComment } from "../../load/columns.ts";
import {
	columnsBetween,
	latestSql,
	rewrittenWords,
	viewChange,
	viewMarkIn,
} from "../../load/latest-view.ts";
import type { ClickHouse } from "./catalog.ts";
import type { ServerFacts } from "./connection.ts";
import type { ClickHousePlan, ClickHouseTable } from "./plan.ts";
import {
	quoteName,
	quoteText,
	typeOf,
	type WrittenView,
	wantedColumns,
} from "./statements.ts";

/** What is undefined isn't done. */
export interface ViewStatements {
	/** Just before the table changes, or comes. */
	before?: string | undefined;
	/** A view that takes its place together with the new table, since no view can be read beside both tables. */
	beside?: WrittenView;
	/** After all else. */
	after?: string | undefined;
	/** See {@link rewrittenWords}. */
	words?: string | undefined;
}

/**
 * How the view of the table's latest rows changes, so that it can be read whenever the table can.
 * Throws what {@link viewChange} throws.
 */
export async function viewStatements(
	{ connection, sql }: ClickHouse,
	{ databaseEngine }: ServerFacts,
	input: LoadInput,
	publish: ClickHousePlan["publish"],
	existing: ClickHouseTable | undefined,
): Promise<ViewStatements> {
	const { name, columns, latest } = input.table;
	if (!latest) return {};
	const { database } = connection.input;
	const selectOf = (columns: readonly TableColumn[]) => {
		const { all, key, newest } = latestSql(columns, latest, quoteName);
		return `SELECT ${all} FROM ${sql.of(name)} ORDER BY ${newest} LIMIT 1 BY ${key}`;
	};
	const hasView = latest.by.length > 0;
	// Who copies SHOW CREATE, comment and all, changes the query and leaves the mark.
	const asMade = hasView
		? `ifNull(formatQuerySingleLineOrNull(as_select) = formatQuerySingleLine(${quoteText(selectOf(columns))}), false)`
		: "true";
	const [found] = await connection.rows<{
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
	if (change.do === "Drop") return { after: sql.dropView(change.name) };
	const words = rewrittenWords(change);
	const how = { isThere: isView };
	// The view that is there may name columns that the new table lacks.
	if (isView && publish === "Rename")
		return {
			before: sql.writeView(change, { ...how, columns }),
			words,
		};
	if (between === "NoKey" && databaseEngine === "Atomic")
		return { beside: change, words };
	return {
		before: before?.do === "Write" ? sql.writeView(before, how) : undefined,
		after: sql.writeView(change, how),
		words,
	};
}
