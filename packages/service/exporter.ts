import { setTimeout as delay } from "node:timers/promises";
// OpenTelemetry's own: queue and batches of spans, and the OTLP protocol with its standard settings, as JSON over HTTP.
import {
	DiagLogLevel,
	diag,
	type SpanContext,
	SpanKind,
	SpanStatusCode,
	TraceFlags,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
	detectResources,
	envDetector,
	type Resource,
	resourceFromAttributes,
} from "@opentelemetry/resources";
import {
	BatchSpanProcessor,
	type ReadableSpan,
} from "@opentelemetry/sdk-trace";
import type { Logger } from "./log.ts";
import {
	type FinishedSpan,
	maxLinks,
	type TraceContext,
} from "./trace-context.ts";

const stopTimeoutMs = 3_000;
/** A collector that is away is reported this often. */
const warnEveryMs = 60_000;
const kinds = {
	server: SpanKind.SERVER,
	producer: SpanKind.PRODUCER,
	consumer: SpanKind.CONSUMER,
	internal: SpanKind.INTERNAL,
};

/** Sends spans to the collector that the environment names. */
export function openExporter(role: string, log: Logger) {
	warnOfFailures(log);
	const resource = resourceFromAttributes({
		"service.name": `tidemill-${role}`,
		"service.namespace": "tidemill",
	}).merge(detectResources({ detectors: [envDetector] }));
	const processor = new BatchSpanProcessor({
		exporter: new OTLPTraceExporter(),
		scheduledDelayMillis: 1_000,
	});
	return {
		record: (span: FinishedSpan) => processor.onEnd(readable(span, resource)),
		stop: async () => {
			const timeout = delay(stopTimeoutMs, undefined, { ref: false });
			await Promise.race([processor.shutdown().catch(() => {}), timeout]);
		},
	};
}

/** The packages write only to their own log. Its texts have no header, and so no secret. */
function warnOfFailures(log: Logger): void {
	let warnedMs = Number.NEGATIVE_INFINITY;
	const warn = (reason: string) => {
		if (performance.now() - warnedMs < warnEveryMs) return;
		warnedMs = performance.now();
		log.warn(
			{ reason: String(reason).slice(0, 500) },
			"traces could not be sent to OTEL_EXPORTER_OTLP_ENDPOINT. They are dropped; everything else goes on",
		);
	};
	const nothing = () => {};
	diag.setLogger(
		{
			error: warn,
			warn: nothing,
			info: nothing,
			debug: nothing,
			verbose: nothing,
		},
		{ logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true },
	);
}

function readable(span: FinishedSpan, resource: Resource): ReadableSpan {
	const { name, kind, parent, links = [], startMs, endMs, error } = span;
	const context = spanContext(span.context);
	const endedMs = Math.max(startMs, endMs);
	return {
		name,
		kind: kinds[kind],
		spanContext: () => context,
		...(parent && { parentSpanContext: spanContext(parent) }),
		startTime: hrTime(startMs),
		endTime: hrTime(endedMs),
		duration: hrTime(endedMs - startMs),
		status:
			error === undefined
				? { code: SpanStatusCode.UNSET }
				: { code: SpanStatusCode.ERROR, message: error },
		attributes: span.attributes,
		links: links.slice(0, maxLinks).map(({ context, attributes }) => ({
			context: spanContext(context),
			...(attributes && { attributes }),
		})),
		events: [],
		ended: true,
		resource,
		instrumentationScope: { name: "tidemill" },
		droppedAttributesCount: 0,
		droppedEventsCount: 0,
		droppedLinksCount: Math.max(0, links.length - maxLinks),
	};
}

function spanContext({ traceId, spanId }: TraceContext): SpanContext {
	return { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
}

function hrTime(ms: number): [number, number] {
	const seconds = Math.floor(ms / 1000);
	return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
