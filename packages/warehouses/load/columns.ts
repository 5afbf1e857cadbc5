import type { TableColumn } from "../../contracts/job.ts";
import { quoteName, quoteText } from "../../duckdb/quoting.ts";
import { bodyColumnsOf, bodyValueSql, readable } from "./body-value.ts";

/** A column of a DuckDB table, and the expression that fills it from the rows of {@link file://./body-value.ts eventRows}. */
export interface ColumnSql {
	name: string;
	type: string;
	expression: string;
}

/**
 * Event ids are text, as in other warehouses and in the sender's logs. Timestamps are instants, so that comparing one
 * with now() is right in any session's time zone.
 * @param columns All columns of the rows.
 */
export function columnSql(
	column: TableColumn,
	columns: readonly TableColumn[] = [column],
): ColumnSql {
	const { name, from } = column;
	switch (from) {
		case "EventID":
			return { name, type: "VARCHAR", expression: "event_id::VARCHAR" };
		case "Timestamp":
			return {
				name,
				type: "TIMESTAMP WITH TIME ZONE",
				expression: `${quoteName("timestamp")}::TIMESTAMPTZ`,
			};
		case "Body":
			return { name, type: "VARCHAR", expression: "body" };
		case "Date":
			return {
				name,
				type: "DATE",
				expression: `${quoteName("date")}::DATE`,
			};
		case "Violations":
			return {
				name,
				type: "VARCHAR",
				// As JSON, so that the quotation marks are none of a text. Without violations, only the plan is there.
				expression: `CASE WHEN contains(violations, '"violations":') THEN violations END`,
			};
		default: {
			if ("bodyPointer" in from) {
				const number = bodyColumnsOf(columns).indexOf(column as never);
				const { type, value } = bodyValueSql(from, number);
				return { name, type, expression: value };
			}
			return {
				name,
				type: "VARCHAR",
				// An object holds the captured headers as one JSON object, or nothing.
				expression: readable(
					"headers",
					`json_extract_string(nullif(headers, ''), ${quoteText(`$."${from.header}"`)})`,
				),
			};
		}
	}
}
