import {
	type EventState,
	type EventsAsked,
	type EventsRequest,
	eventStates,
	maxEventsAsked,
	maxSourcesAsked,
} from "../../../packages/contracts/stored-event.ts";
import { accountForm } from "../../wire/frame.ts";
import { RequestFailure } from "./errors.ts";
import { type Fields, parse } from "./fields.ts";

const timeForm = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const maxTypes = 20;
/** Of a type in a judgement. */
const maxTypeLength = 200;
/** The longest window of a sender's key, in days of its seconds: the CRD's. */
const maxKeySeconds = 7 * 86_400;

/** Throws RequestFailure QuestionInvalid, which says what is wrong. */
export function readEventsRequest(text: string): EventsRequest {
	const request = parse("events", text);
	const sourceKeys = request.texts("sourceKeys", maxSourcesAsked, 32);
	if (!sourceKeys.every((key) => /^[0-9a-f]{32}$/.test(key)))
		throw new RequestFailure(
			"QuestionInvalid",
			"One of the events request's sourceKeys isn't a source key",
		);
	return {
		account: request.field("account", accountForm),
		sourceKeys,
		...(request.has("list")
			? { list: listIn(request.inside("list")) }
			: {
					id: request.field("id", /^[0-9a-f-]{36}$/),
					...(request.isTrue("body") && { body: true }),
					...(request.has("keySeconds") && {
						keySeconds: request.number("keySeconds", 0, maxKeySeconds),
					}),
				}),
	};
}

const stateForm = new RegExp(`^(${eventStates.join("|")})$`);

function listIn(list: Fields): EventsAsked {
	return {
		limit: list.number("limit", 1, maxEventsAsked),
		...(list.has("from") && { from: list.field("from", timeForm) }),
		...(list.has("to") && { to: list.field("to", timeForm) }),
		...(list.has("types") && {
			types: list.texts("types", maxTypes, maxTypeLength),
		}),
		...(list.has("state") && {
			state: list.field("state", stateForm) as EventState,
		}),
		...(list.isTrue("withoutImported") && { withoutImported: true }),
		...(list.has("cursor") && { cursor: list.field("cursor", /^[\w-]+$/) }),
	};
}
