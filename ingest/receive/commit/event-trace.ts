// uuid: the field's RFC 9562 implementation.
import { stringify } from "uuid";
import {
	newContext,
	parseTraceparent,
	type TraceContext,
} from "../../../packages/service/trace-context.ts";
import type { Tracing } from "../../../packages/service/tracing.ts";
import type { OutgoingFrame, PublishOutcome } from "./frame-builder.ts";

interface TracedRequest {
	account: string;
	source: string;
	event: Uint8Array;
	/** The header, if the sender sends one. */
	traceparent: string | string[] | undefined;
	/** When the request came, by performance.now(). */
	sinceMs: number;
}

/** The spans of one event in receive: its request, and below it how it was stored. */
export class EventTrace {
	readonly #tracing: Tracing;
	readonly #request: TracedRequest;
	readonly #parent: TraceContext | undefined;
	readonly #span: TraceContext;
	/** What archive's span goes below. */
	readonly store: TraceContext;
	readonly #storingMs = performance.now();

	/** Undefined for a request without a trace. */
	static begin(tracing: Tracing, request: TracedRequest) {
		const header = request.traceparent;
		const parent =
			typeof header === "string" ? parseTraceparent(header) : undefined;
		const span = tracing.sampler.begin(
			request.account,
			parent,
			performance.now(),
		);
		return span && new EventTrace(tracing, request, parent, span);
	}

	private constructor(
		tracing: Tracing,
		request: TracedRequest,
		parent: TraceContext | undefined,
		span: TraceContext,
	) {
		this.#tracing = tracing;
		this.#request = request;
		this.#parent = parent;
		this.#span = span;
		this.store = newContext(span);
	}

	/** The sender has its answer. */
	answered(status: number): void {
		this.#record("receive", "server", this.#span, this.#parent, {
			sinceMs: this.#request.sinceMs,
			attributes: { "http.response.status_code": status },
			error: status === 200 ? undefined : "the event may not be stored",
		});
	}

	/** This became of the event. */
	settled(outcome: PublishOutcome, frame: OutgoingFrame | undefined): void {
		this.#record("store", "producer", this.store, this.#span, {
			sinceMs: this.#storingMs,
			attributes: frame
				? {
						"tidemill.frame.stream": frame.stream,
						"tidemill.frame.process": frame.process,
						"tidemill.frame.number": frame.number,
					}
				: {},
			error: outcome === "stored" ? undefined : outcome,
		});
	}

	#record(
		name: string,
		kind: "server" | "producer",
		context: TraceContext,
		parent: TraceContext | undefined,
		span: {
			sinceMs: number;
			attributes: Record<string, string | number>;
			error: string | undefined;
		},
	): void {
		const { account, source, event } = this.#request;
		this.#tracing.record({
			name,
			kind,
			context,
			parent,
			startMs: performance.timeOrigin + span.sinceMs,
			endMs: performance.timeOrigin + performance.now(),
			attributes: {
				"tidemill.account": account,
				"tidemill.source": source,
				"tidemill.event.id": stringify(event),
				...span.attributes,
			},
			error: span.error,
		});
	}
}
