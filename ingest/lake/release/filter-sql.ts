import type { ReleaseFilter } from "../../../packages/contracts/archive.ts";
import { quoteText } from "../../../packages/duckdb/quoting.ts";

/** The condition on a row in quarantine; its column `violations` has the plan's Judgement. */
export function filterSql({ types, kinds, eventIDs }: ReleaseFilter): string {
	const list = (texts: string[]) => texts.map(quoteText).join(", ");
	const conditions = [
		types && `json_extract_string(violations, '$.type') IN (${list(types)})`,
		kinds &&
			`list_has_any(json_extract_string(violations, '$.violations[*].kind'), [${list(kinds)}])`,
		eventIDs && `event_id IN (${list(eventIDs)})`,
	].filter((condition) => condition !== undefined);
	return conditions.length === 0 ? "true" : conditions.join(" AND ");
}
