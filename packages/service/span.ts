import type { TraceContext } from "./trace-context.ts";

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

export type Attributes = Record<string, string | number>;

/** Of one span, as OpenTelemetry limits them. */
export const maxLinks = 128;
