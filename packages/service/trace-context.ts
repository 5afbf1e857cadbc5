import { createHash, randomBytes } from "node:crypto";

/** A span's place in a trace, as W3C Trace Context has it. */
export interface TraceContext {
	/** 32 hex digits. */
	traceId: string;
	/** 16 hex digits. */
	spanId: string;
}

export interface RemoteContext extends TraceContext {
	isSampled: boolean;
}

/** Undefined for none, or one that the standard says to ignore (https://www.w3.org/TR/trace-context/#traceparent-header). */
export function parseTraceparent(
	text: string | undefined,
): RemoteContext | undefined {
	if (text === undefined || text.length > 200) return undefined;
	const [, version, traceId, spanId, flags, more] =
		/^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(
			text,
		) ?? [];
	if (traceId === undefined || spanId === undefined) return undefined;
	// A later version may have more after the flags.
	if (version === "ff" || (version === "00" && more !== undefined))
		return undefined;
	if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
	const isSampled = (Number.parseInt(flags!, 16) & 1) === 1;
	return { traceId, spanId, isSampled };
}

/** Of a span that is recorded. */
export function traceparent({ traceId, spanId }: TraceContext): string {
	return `00-${traceId}-${spanId}-01`;
}

/** A new span, below the parent if there is one. */
export function newContext(
	parent: Pick<TraceContext, "traceId"> | undefined,
): TraceContext {
	const traceId = parent?.traceId ?? randomBytes(16).toString("hex");
	return { traceId, spanId: randomBytes(8).toString("hex") };
}

/**
 * The root span of something that has a name for life. Whoever knows the name knows the span, so nobody has to pass it on,
 * and a repeated step tells the same span.
 */
export function contextOf(kind: "object" | "run", name: string): TraceContext {
	const digest = createHash("sha256").update(`${kind} ${name}`).digest("hex");
	return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) };
}

/** A span that has ended. */
export interface FinishedSpan {
	name: string;
	kind: "server" | "producer" | "consumer" | "internal";
	context: TraceContext;
	parent?: TraceContext | undefined;
	/** Spans of other traces that led to this one. */
	links?: readonly { context: TraceContext; attributes?: Attributes }[];
	/** Milliseconds since 1970. */
	startMs: number;
	endMs: number;
	attributes: Attributes;
	/** What failed. */
	error?: string | undefined;
}

type Attributes = Record<string, string | number>;

/** Of one span, as OpenTelemetry limits them. */
export const maxLinks = 128;
