import type { Operation } from "../http/endpoint.ts";
import { listRefused } from "../events/refused-requests.ts";

/** The operations on refused requests. */
export const refusedOperations: Operation[] = [
	{
		id: "listRefusals",
		method: "GET",
		path: "/v1/sources/{name}/refusals",
		summary: "List the requests of the last hours that a source refused",
		tag: "sources",
		handler: listRefused,
		query: ["from", "limit", "body"],
		answers: {
			200: {
				about: "The refused requests that were kept, newest first.",
				schema: "RefusedRequestList",
			},
		},
		errors: [],
	},
];
