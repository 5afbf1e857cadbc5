import {
	parameterField,
	parameterOf,
} from "../../../packages/contracts/route.ts";
import {
	type SendAgain,
	sentAgainField,
} from "../../../packages/contracts/sent-again.ts";
import { maxEventBodyBytes } from "../../wire/frame.ts";
import { type RequestRefusal, refusals } from "./refusal.ts";
import type { AcceptedHead } from "./request-head.ts";
import type { FoundSource, ServedRoute } from "./route-table.ts";

/** The Source of an event that is sent again, in place of the one that a URL leads to, and what is kept of the first. */
export interface AgainSource extends FoundSource {
	asked: SendAgain;
	/** The captured headers as node:http gives them, by which a plan and a sender's key go. */
	headers: Record<string, string>;
}

/** Of the answer, if the Source has an event of its key already. */
export const repeatHeader = "tidemill-repeat";

/**
 * The Source as the event finds it: with its plan, limits, key and suspension, but without what only a sender could present or would
 * read (credentials, handshakes, another origin's rights, an answer in other words).
 */
export function againSource(route: ServedRoute, asked: SendAgain): AgainSource {
	const {
		verification: _verification,
		cors: _cors,
		response: _response,
		emptyBody: _emptyBody,
		idempotency,
		...kept
	} = route;
	const { fields, as } = asked;
	const names = Object.keys(fields);
	const parameters = names.flatMap((name) => parameterOf(name) ?? []);
	const query = new URLSearchParams(
		parameters.map((name) => [name, fields[parameterField(name)]!]),
	).toString();
	return {
		asked,
		route: {
			...kept,
			...(idempotency && as === "Repeat" && { idempotency }),
		},
		address: {
			sourceKey: route.sourceKey,
			urlKey: "",
			token: undefined,
			query: query === "" ? undefined : query,
		},
		headers: Object.fromEntries(
			names
				.filter((name) => parameterOf(name) === undefined)
				.map((name) => [name.toLowerCase(), asSent(fields[name]!)]),
		),
	};
}

/** What a sender's head would say of it. The stored text is JSON as it is, also that of a form, which may be longer than the form was. */
export function againHead({
	asked: { of, kind, fields },
	route,
	address: { query },
}: AgainSource): AcceptedHead | RequestRefusal {
	if (route.suspended) return refusals.SourceSuspended;
	const most = kind === "form" ? maxEventBodyBytes : route.maxBodyBytes;
	return {
		route,
		signature: undefined,
		kind: "json",
		encoding: undefined,
		headers: JSON.stringify({ ...fields, [sentAgainField]: of }),
		query,
		maxBodyBytes: Math.min(most, maxEventBodyBytes),
	};
}

/** node:http would give UTF-8 so: a character a byte. */
function asSent(value: string): string {
	return Buffer.from(value).toString("latin1");
}
