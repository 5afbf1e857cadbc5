import type { TableColumn } from "../../../contracts/job.ts";
import { quoteName, quoteText } from "../../duckdb/quoting.ts";

/** A column of a DuckDB table, and the expression over an object's columns that fills it. */
export interface ColumnSql {
	name: string;
	type: string;
	expression: string;
}

/**
 * Event ids are text, as in other warehouses and in the sender's logs. Timestamps are instants, so that comparing one
 * with now() is right in any session's time zone.
 */
export function columnSql({ name, from }: TableColumn): ColumnSql {
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
		default:
			return {
				name,
				type: "VARCHAR",
				// An object holds the captured headers as one JSON object, or nothing.
				expression: `json_extract_string(nullif(headers, ''), ${quoteText(`$."${from.header}"`)})`,
			};
	}
}
