// uuid: the field's RFC 9562 implementation.
import { stringify } from "uuid";
import {
	contextOf,
	maxLinks,
	newContext,
	type TraceContext,
} from "../../../packages/service/trace-context.ts";
import type { Tracing } from "../../../packages/service/tracing.ts";
import type { FrameEvent } from "../../wire/frame-event.ts";

interface TracedObject {
	key: string;
	events: readonly FrameEvent[];
	stream: string;
	/** Of the cut. */
	first: number;
	last: number;
	/** When its writing began, milliseconds since 1970. */
	startMs: number;
}

/**
 * Records a span for each event of the object that has a trace, and one for the object, with links to them. The object's span
 * follows from its key, so the Run that loads it can link to it. Nothing for an object without such an event.
 */
export function traceObject(
	tracing: Tracing,
	{ key, events, stream, first, last, startMs }: TracedObject,
): void {
	const traced = events.filter(({ trace }) => trace !== undefined);
	if (traced.length === 0) return;
	const endMs = Date.now();
	const object = contextOf("object", key);
	const attributes = {
		"tidemill.object.key": key,
		"tidemill.cut.stream": stream,
		"tidemill.cut.first": first,
		"tidemill.cut.last": last,
	};
	const spans: TraceContext[] = [];
	for (const { id, account, trace } of traced.slice(0, maxLinks)) {
		const context = newContext(trace);
		spans.push(context);
		tracing.record({
			name: "archive",
			kind: "consumer",
			context,
			parent: trace,
			links: [{ context: object }],
			startMs,
			endMs,
			attributes: {
				"tidemill.account": account,
				"tidemill.event.id": stringify(id),
				...attributes,
			},
		});
	}
	tracing.record({
		name: "object",
		kind: "producer",
		context: object,
		links: spans.map((context) => ({ context })),
		startMs,
		endMs,
		attributes: { ...attributes, "tidemill.object.rows": events.length },
	});
}
