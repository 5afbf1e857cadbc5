import type { SchemaObject } from "../../crds/json-schema.ts";
import { maxHeadBytes } from "../../packages/contracts/refused-request.ts";
import { sentAgainAs } from "../../packages/contracts/sent-again.ts";
import { eventStates } from "../../packages/contracts/stored-event.ts";
import {
	choice,
	count,
	date,
	flag,
	integer,
	list,
	object,
	schemaRef,
	text,
	texts,
	time,
} from "./fields.ts";

const head = {
	eventId: text("The `event_id` of its row."),
	time: time("When it was received."),
	"type?": text(
		"Its type, as the source's tracking plan has it. Absent without a plan.",
	),
	kind: choice("What the sender sent.", ["json", "form"]),
	bytes: integer("Size of the body."),
	state: choice(
		"`accepted`: a row of its date. `quarantined`: the tracking plan keeps it apart. `released`: it was kept apart, and is a row now. `imported`: a row of its date, which came with a file.",
		eventStates,
	),
};

const whole = {
	...head,
	source: text("Name of the source."),
	"trackingPlan?": text(
		"The tracking plan that validated it. Absent without one.",
	),
	"planVersion?": text("Version of that plan."),
	stage: text(
		"`Buffer`: in NATS, on its way to the bucket. `Bucket`: in an object. Later versions may add values.",
	),
	"frames?": object(
		"Where it came in the stream: its own sequence while it is in the buffer, and then the sequences that were archived together. Absent once the objects of its date are compacted.",
		{
			stream: text("Name of the stream."),
			first: integer("First sequence."),
			last: integer("Last sequence."),
		},
	),
	"object?": text("Key of the object that has it in the bucket."),
	storedTime: time("A run whose `snapshotTime` is this or later loads it."),
	"released?": object(
		"Its release from quarantine. Absent if there was none.",
		{
			time: time("When it was released."),
			object: text("Key of the object that has its row since."),
		},
	),
};
const eventLoad = object(undefined, {
	pipeline: text("Name of the pipeline."),
	table: text(
		"Name of the table. With an asterisk for the type if the pipeline has a table for each.",
	),
	state: text(
		"`Loaded`: the table has it. `Waiting`: the next run loads it. `Held`: it is in quarantine. `Excluded`: its date is none of the pipeline's. Later versions may add values.",
	),
	"filtered?": flag(
		"The pipeline has a filter, and the table has the event only if it matches. Absent without a filter.",
	),
	"partition?": date(
		"The table's partition. Absent for a table without partitions.",
	),
	"run?": text(
		"The latest run that loaded it. Absent if the pipeline has removed that run.",
	),
	"loadedTime?": time("When that run ended."),
	"firstRun?": text("The first such run that is still there."),
	"loadedBefore?": time(
		"Of a run that is removed: the table has had the event since this time at the latest.",
	),
	"nextRunTime?": time("When the schedule starts the next run."),
});
const violationKind = text("What is wrong.");

/** The answers about stored events. */
export const eventSchemas: Record<string, SchemaObject> = {
	EventList: object(
		"Events, the newest first. Imported ones may come some pages after others of their date. A page may have fewer events than asked for, and even none, as long as there is a cursor: a search through many events ends after some seconds.",
		{
			items: {
				type: "array",
				items: object(undefined, {
					...head,
					"violations?": list(
						"How it deviates from its tracking plan. Absent if it doesn't.",
						{ type: "string" },
					),
					"glimpse?": text(
						"Only with `?glimpse=true`: the beginning of the body.",
					),
					"loads?": list(
						"Only with `?loads=true`: what each pipeline of the source did with it. Absent if you may not see pipelines or runs.",
						eventLoad,
					),
				}),
			},
			"cursor?": text("Leads to the next page. Absent on the last one."),
			"reached?": time("With a cursor: what is later than this was looked at."),
		},
	),
	Event: object("An event, and where it is.", {
		...whole,
		"violations?": list(
			"How it deviates from the plan: with `?body=true` where and how, else each kind once. Absent if it doesn't.",
			object(undefined, {
				kind: violationKind,
				"path?": text(
					"JSON Pointer into the body; empty for all of it. Only with `?body=true`.",
				),
				"message?": text("What was expected there. Only with `?body=true`."),
			}),
		),
		"otherViolations?": integer(
			"How many violations there are beside these. Only with `?body=true`.",
		),
		"body?": text("Its body as JSON text, unchanged. Only with `?body=true`."),
		"headers?": texts("The captured headers. Only with `?body=true`."),
		"queryParameters?": texts(
			"The captured query parameters. Only with `?body=true`.",
		),
	}),
	SourceDays: object("What came to a source on each of the last 31 dates.", {
		items: {
			type: "array",
			items: object(undefined, {
				date: date("The UTC date of receipt."),
				received: count("Events that came."),
				stored: count(
					"Those of them that are rows of the date, with those that were released from quarantine.",
				),
				quarantined: count("Those of them that are in quarantine."),
				imported: count("Events of the date that came with files."),
				"loads?": list(
					"Each pipeline of the source. Absent if you may not see pipelines.",
					object(undefined, {
						pipeline: text("Name of the pipeline."),
						table: text("Name of the table."),
						state: text(
							"`Loaded`: its last run had all that came on the date; what was released or imported since comes with the next one. `Waiting`: a next run loads the date, or the rest of it. `Excluded`: the date is none of the pipeline's. Later versions may add values.",
						),
					}),
				),
			}),
		},
		"lastEventTime?": time("When the latest archived event was received."),
		"archivedThrough?": time(
			"Every event accepted before this instant is counted. Absent before the first event.",
		),
	}),
	EventReceipt: object("An event, where it is, and which runs loaded it.", {
		...whole,
		"violations?": list(
			"How it deviates from the plan, each kind once. Absent if it doesn't.",
			object(undefined, { kind: violationKind }),
		),
		"loads?": list(
			"What each pipeline of the source did with it. Absent if you may not see pipelines or runs.",
			eventLoad,
		),
	}),
};

/** The bodies of a test event. */
export const testEventSchemas: Record<string, SchemaObject> = {
	TestEvent: {
		description:
			"The event, which is stored as it is written. If it is empty, a small one is sent.",
		type: "object",
		additionalProperties: true,
		examples: [{}, { type: "order.paid", order: 1 }],
	},
	TestEventResult: object("What the sender of the event gets.", {
		name: text("Name of the source."),
		accepted: flag("Whether the event is stored."),
		httpStatus: integer("The HTTP status."),
		"eventId?": text("The `event_id` of its row. Absent if it isn't stored."),
		"error?": object("Why it isn't stored.", {
			"code?": text("The error's code."),
			"message?": text("What is wrong."),
		}),
	}),
};

/** The bodies of a stored event that is sent again. */
export const sendAgainSchemas: Record<string, SchemaObject> = {
	SendAgain: object("How the event is sent again.", {
		"as?": choice(
			"`New`: another event, whatever its sender's key. `Repeat`: under its sender's key, so that the source takes it for the event it has, unless the key's time is over or what is kept of the event lacks the key.",
			sentAgainAs,
		),
	}),
	SendAgainResult: object("What a sender of it would get.", {
		name: text("Name of the source."),
		accepted: flag("Whether the source has taken it."),
		httpStatus: integer("The HTTP status."),
		"eventId?": text(
			"The `event_id` of its row: of the event that the source had already, if it became a repeat. Absent if it wasn't taken.",
		),
		"became?": choice(
			"What it became. Absent if it wasn't taken.",
			sentAgainAs,
		),
		sent: object(
			"What was sent beside the body. Other headers and query parameters, the signature and the sender's address aren't kept of events.",
			{
				headerNames: list("Names of the captured headers.", { type: "string" }),
				parameterNames: list("Names of the captured query parameters.", {
					type: "string",
				}),
			},
		),
		"error?": object("Why it wasn't taken.", {
			"code?": text("The error's code."),
			"message?": text("What is wrong."),
		}),
	}),
};

/** The bodies of the endpoints for refused requests. */
export const refusedSchemas: Record<string, SchemaObject> = {
	RefusedRequest: object(
		"A request that a source refused, without what can be a credential.",
		{
			time: time("When it was answered."),
			status: count("HTTP status of the answer."),
			code: text("Why it was refused, for programs."),
			message: text("What is wrong and what to do about it."),
			"cause?": text(
				"What exactly is wrong, such as the header that is missing. The sender doesn't read it, unless it is the place of a mistake in the body.",
			),
			method: text("HTTP method."),
			"contentType?": text("Its `Content-Type`."),
			"userAgent?": text("Its `User-Agent`."),
			"bytes?": count(
				"Size of the body: as the sender announced it, or as much as arrived.",
			),
			headerNames: list(
				"Names of its headers. Only the first, if it has many.",
				{ type: "string" },
			),
			"leftOut?": count(
				"How many of the source's requests were refused since the one before and aren't listed.",
			),
			"bodyHead?": text(
				`The beginning of the body, at most ${maxHeadBytes} bytes. Only with \`body=true\`, and if an uncompressed body was read. None of a request with more than 32 headers or parameters that may be credentials.`,
			),
			"violations?": list(
				"How the event violates the tracking plan. Only with `body=true`.",
				{ type: "object" },
			),
			"otherViolations?": integer(
				"How many violations there are beside these. Only with `body=true`.",
			),
		},
	),
	RefusedRequestList: object("Refused requests, newest first.", {
		items: { type: "array", items: schemaRef("RefusedRequest") },
	}),
};
