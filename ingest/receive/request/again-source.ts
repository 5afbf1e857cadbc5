import {
	parameterField,
	parameterOf,
} from "../../../packages/contracts/route.ts";
import {
	type SendAgain,
	sentAgainField,
} from "../../../packages/contracts/sent-again.ts";
import type { ContentKind } from "../../wire/frame-event.ts";
import type { FoundSource, ServedRoute } from "./route-table.ts";

/** The Source of an event that is sent again, in place of the one that a URL leads to. */
export interface AgainSource extends FoundSource {
	/** Of the stored text, which is JSON also for a form. */
	kind: ContentKind;
}

/** Of the answer, if the Source has an event of its key already. */
export const repeatHeader = "tidemill-repeat";

/** The request by which an event is sent again: what is kept of the first one. */
export interface AgainRequest {
	source: AgainSource;
	/** As node:http gives them. */
	headers: Record<string, string>;
}

/**
 * The Source as the event finds it: with its plan, limits, key and suspension, but without what only a sender could present or would
 * read (credentials, handshakes, another origin's rights, an answer in other words).
 */
export function againRequest(
	route: ServedRoute,
	{ of, kind, fields, as }: SendAgain,
): AgainRequest {
	const {
		verification: _verification,
		cors: _cors,
		response: _response,
		emptyBody: _emptyBody,
		idempotency,
		...kept
	} = route;
	const names = Object.keys(fields);
	const headers = names.filter((name) => parameterOf(name) === undefined);
	const parameters = names.flatMap((name) => parameterOf(name) ?? []);
	const query = new URLSearchParams(
		parameters.map((name) => [name, fields[parameterField(name)]!]),
	).toString();
	return {
		source: {
			kind,
			route: {
				...kept,
				authorization: { type: "None" },
				...(idempotency && as === "Repeat" && { idempotency }),
				// What the Source captures by now may be less.
				capturedHeaders: [...new Set([...headers, sentAgainField])],
				capturedParameters: parameters,
			},
			address: {
				sourceKey: route.sourceKey,
				urlKey: "",
				token: undefined,
				query: query === "" ? undefined : query,
			},
		},
		headers: {
			...Object.fromEntries(
				headers.map((name) => [name, asSent(fields[name]!)]),
			),
			[sentAgainField]: of,
			// A stored form is JSON.
			"content-type": "application/json",
		},
	};
}

/** node:http would give UTF-8 so: a character a byte. */
function asSent(value: string): string {
	return Buffer.from(value).toString("latin1");
}
