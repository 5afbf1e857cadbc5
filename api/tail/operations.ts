import type { Operation } from "../http/endpoint.ts";
import { tailEvents } from "../events/tail.ts";

/** The operations on live tails. */
export const tailOperations: Operation[] = [
	{
		id: "tailEvents",
		method: "GET",
		path: "/v1/sources/{name}/events/tail",
		summary: "Follow the events of a source as they come",
		tag: "sources",
		handler: tailEvents,
		query: ["refused", "body"],
		answers: {
			200: {
				about:
					"Server-sent events: `accepted` and `quarantined` for a new event, `refused` for a refused request, `left-out` for what isn't shown, `open` and `waiting` for whether archive answers, and `end` with the reason. With `Last-Event-ID` it goes on after that event, as far as the stream reaches.",
			},
		},
		produces: "text/event-stream",
		errors: [409],
	},
];
