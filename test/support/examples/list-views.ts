import { readFileSync } from "node:fs";
import { join } from "node:path";
import { documented } from "./documented.ts";

/* The views of docs/reference/senders.md that have a row for each element of a list, and what they must have. */

type WarehouseName = "DuckDB" | "Postgres" | "ClickHouse" | "BigQuery";

/** The view as the page has it. */
export function listView(warehouse: WarehouseName): string {
	const views = documented("docs/reference/senders.md#lists-of-events sql");
	const { text } = views.find(({ about }) => about === warehouse)!;
	return text.replace(/;\n$/, "");
}

/** The view of lists in the member `entry`, as the page says to make it: of the table `meta`. */
export function memberView(warehouse: WarehouseName): string {
	const page = join(import.meta.dirname, "../../../docs/reference/senders.md");
	const pattern = new RegExp(`^\\| ${warehouse} \\| \`(.*)\` \\|$`, "m");
	const place = pattern.exec(readFileSync(page, "utf8"))![1]!;
	return listView(warehouse)
		.replace(/\bbody\b/g, () => place)
		.replaceAll("sendgrid", "meta");
}

/** What providers send, by the event's id. */
export const listBodies: Record<string, string> = {
	sendgrid:
		'[{"email":"a@example.com","timestamp":1772366400,"event":"delivered","sg_event_id":"a=="},\n{"event":"open","sg_event_id":"b=="}]',
	event_grid:
		'[ {"id":"1","eventType":"Microsoft.Storage.BlobCreated","data":{"url":"https://example.com/ä"},"dataVersion":"1"} ]',
	hubspot:
		'[{"eventId":100,"subscriptionType":"contact.creation","objectId":12345678901234567},{"eventId":101},{"eventId":102}]',
	cloud_events:
		'[{"specversion":"1.0","type":"a","source":"/b","id":"1","data":[1,[2]]},{"specversion":"1.0","id":"2"}]',
	empty: "[]",
	empty_with_spaces: " [ \\n ] ".replace("\\n", "\n"),
	one_null: "[null]",
	scalars: '["x",1.5,true,"[]",""]',
	lists: "[[],[1,2],{}]",
	braces: '["]},{[","\\"",{"a":"\\u005d"}]',
	no_list: '{"specversion":"1.0","data":[1,2]}',
	text: '"[1]"',
	nothing: "null",
};

/** A row: the event's id, the element's place, and the element as JSON has it. */
export type ListRow = [id: string, index: number | null, element: unknown];

export const listRows = rowsIn(listBodies, (value) => value);

/** What providers send whose lists stand in a member. */
export const memberBodies: Record<string, string> = {
	meta: '{"object":"page","entry":[{"id":"1","time":1772366400,"changes":[]},{"id":"2"}]}',
	scalars: '{ "entry" : [null, "x", 1.5, [1]] }',
	empty: '{"entry":[]}',
	an_object: '{"entry":{"0":"a"}}',
	another_name: '{"value":[1]}',
	a_list: '[{"entry":[1]}]',
	deeper: '{"a":{"entry":[1]}}',
	text: '"entry"',
	nothing: "null",
};

export const memberRows = rowsIn(memberBodies, (value) => value?.entry);

function rowsIn(
	bodies: Record<string, string>,
	listIn: (value: { entry?: unknown } | null) => unknown,
): ListRow[] {
	return Object.entries(bodies)
		.flatMap(([id, body]): ListRow[] => {
			const list = listIn(JSON.parse(body));
			if (!Array.isArray(list) || list.length === 0) return [[id, null, null]];
			return list.map((element, index): ListRow => [id, index, element]);
		})
		.sort(byPlace);
}

/** Rows of a view, whose numbers and elements may be texts. */
export function listRowsOf(rows: readonly unknown[][]): ListRow[] {
	return rows
		.map(
			([id, index, element]): ListRow => [
				String(id),
				index === null ? null : Number(index),
				typeof element === "string" ? JSON.parse(element) : element,
			],
		)
		.sort(byPlace);
}

function byPlace([a, i]: ListRow, [b, j]: ListRow): number {
	return a < b ? -1 : a > b ? 1 : (i ?? 0) - (j ?? 0);
}
