import type { Operation } from "../http/endpoint.ts";
import { getSourceEvent } from "./event.ts";
import { listSourceEvents } from "./list.ts";
import { getReceipt } from "./receipt.ts";

/** The operations on stored events. */
export const eventOperations: Operation[] = [
	{
		id: "listSourceEvents",
		method: "GET",
		path: "/v1/sources/{name}/events",
		summary: "List the events of a source, without their bodies",
		tag: "events",
		handler: listSourceEvents,
		query: ["from", "to", "type", "state", "limit", "cursor"],
		answers: { 200: { about: "A page of events.", schema: "EventList" } },
		errors: [404, 410],
	},
	{
		id: "getSourceEvent",
		method: "GET",
		path: "/v1/sources/{name}/events/{event_id}",
		summary: "Show an event of a source",
		tag: "events",
		handler: getSourceEvent,
		query: ["body"],
		answers: { 200: { about: "The event.", schema: "Event" } },
		errors: [404],
	},
	{
		id: "getEventReceipt",
		method: "GET",
		path: "/v1/events/{event_id}",
		summary: "Show where an event of the account is, and which runs loaded it",
		tag: "events",
		handler: getReceipt,
		answers: {
			200: { about: "The receipt of the event.", schema: "EventReceipt" },
		},
		errors: [404],
	},
];
