import {
	type EventState,
	eventStates,
} from "../../packages/contracts/stored-event.ts";
import { invalidParameter } from "../http/errors.ts";
import { instantOf } from "../http/instant.ts";
import type { Handler } from "../http/endpoint.ts";
import { sizeOf } from "../resources/page.ts";
import { eventView } from "./event-view.ts";
import { listInShards } from "./shards-list.ts";
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
	const { events, cursor: next } = await listInShards(caller, place, list);
	return {
		items: events.map(eventView),
		...(next !== undefined && { cursor: next }),
	};
};

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
	if (/^[\w-]{1,8000}$/.test(cursor)) return cursor;
	throw invalidParameter(
		"cursor",
		"must be the cursor of the previous page",
		cursor,
	);
}
