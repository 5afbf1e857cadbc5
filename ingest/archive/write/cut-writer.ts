// uuid: the field's RFC 9562 implementation.
import { stringify } from "uuid";
import type { Store } from "../../../packages/bucket/object-store.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import {
	contextOf,
	maxLinks,
	newContext,
	type TraceContext,
} from "../../../packages/service/trace-context.ts";
import type { Tracing } from "../../../packages/service/tracing.ts";
import type { FrameEvent } from "../../wire/frame-event.ts";
import type { CutRecord, GroupEvents } from "../decide/cut.ts";
import type { ArchiveMetrics } from "./archive-metrics.ts";
import { eventFile } from "./parquet/event-file.ts";
import type { Tombstones } from "./tombstones.ts";

/** A PUT to S3 takes 20 to 50 ms, so a cut of many sources would wait for most of its time. */
const objectsAtOnce = 32;

export class CutWriter {
	readonly #store: Store;
	readonly #tombstones: Tombstones;
	readonly #metrics: ArchiveMetrics;
	readonly #tracing: Tracing | undefined;

	constructor(options: {
		store: Store;
		tombstones: Tombstones;
		metrics: ArchiveMetrics;
		tracing?: Tracing | undefined;
	}) {
		this.#store = options.store;
		this.#tombstones = options.tombstones;
		this.#metrics = options.metrics;
		this.#tracing = options.tracing;
	}

	get isTraced(): boolean {
		return this.#tracing !== undefined;
	}

	/** Settles when all objects of the cut are in the store, whoever wrote them. Leaves out deleted sources. */
	async write(
		shard: number,
		cut: CutRecord,
		groups: readonly GroupEvents[],
	): Promise<void> {
		await mapConcurrently(groups, objectsAtOnce, async ({ group, events }) => {
			if (this.#tombstones.has(group)) return;
			const startMs = this.#tracing ? Date.now() : 0;
			const body = await eventFile(events);
			const key = this.#store.keys.events(group, cut.stream, cut.first);
			// "exists" is success, too: its writer had the same cut and the same frames.
			const written = await this.#store.putNew(
				key,
				body,
				"application/vnd.apache.parquet",
			);
			if (this.#tracing)
				traceObject(this.#tracing, { ...cut, key, events, startMs });
			if (written === "exists") return;
			this.#metrics.objects.inc({ shard });
			this.#metrics.objectBytes.inc({ shard }, body.length);
		});
	}
}

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
