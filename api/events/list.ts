import {
	type EventState,
	type EventsAnswer,
	eventStates,
} from "../../contracts/stored-event.ts";
import { invalidParameter } from "../http/errors.ts";
import type { Handler } from "../http/operation.ts";
import { sizeOf } from "../lists/page.ts";
import { eventView } from "./event-view.ts";
import { placeOf, requireSource } from "./sources.ts";

/** `GET /v1/sources/{name}/events`: the newest first. */
export const listSourceEvents: Handler = async (caller, { params, query }) => {
	const { from, to, type, state, cursor } = query;
	const list = {
		limit: sizeOf(query.limit),
		...(from !== undefined && { from: instantOf("from", from) }),
		...(to !== undefined && { to: instantOf("to", to) }),
		...(type !== undefined && { types: [typeOf(type)] }),
		...(state !== undefined && { state: stateOf(state) }),
		...(cursor !== undefined && { cursor: cursorOf(cursor) }),
	};
	const place = placeOf(await requireSource(caller, params.name!));
	if (!place) return { items: [] };
	const { shard, sourceKey } = place;
	const { account } = caller;
	const sourceKeys = [sourceKey];
	const { answer } = await caller.askEvents(shard, {
		account,
		sourceKeys,
		list,
	});
	const { events, cursor: next } = answer as EventsAnswer & { ok: true };
	return {
		items: events.map(eventView),
		...(next !== undefined && { cursor: next }),
	};
};

const date = /^\d{4}-\d\d-\d\d$/;
const dateTime =
	/^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/** Of a date, its first instant as `from` and its last one as `to`. */
function instantOf(name: "from" | "to", text: string): string {
	const end = name === "from" ? "T00:00:00.000Z" : "T23:59:59.999Z";
	const ms = date.test(text)
		? Date.parse(text + end)
		: dateTime.test(text)
			? Date.parse(text)
			: Number.NaN;
	const year = new Date(ms).getUTCFullYear();
	if (year >= 0 && year <= 9999) return new Date(ms).toISOString();
	throw invalidParameter(
		name,
		"must be a date or a time, such as 2026-03-01 or 2026-03-01T12:00:00Z",
		text,
	);
}

function typeOf(type: string): string {
	if (type !== "" && type.length <= 200) return type;
	throw invalidParameter("type", "must have 1 to 200 characters", type);
}

function stateOf(state: string): EventState {
	const found = eventStates.find((one) => one === state);
	if (found) return found;
	throw invalidParameter(
		"state",
		`must be one of ${eventStates.join(", ")}`,
		state,
	);
}

function cursorOf(cursor: string): string {
	if (/^[\w-]{1,2000}$/.test(cursor)) return cursor;
	throw invalidParameter(
		"cursor",
		"must be the cursor of the previous page",
		cursor,
	);
}
