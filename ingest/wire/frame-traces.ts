import {
	parseTraceparent,
	type TraceContext,
	traceparent,
} from "../../packages/service/trace-context.ts";

/** The header of a frame's message. It has a value for each event with a trace: its place in the frame, and its span. */
export const traceHeader = "Tidemill-Trace";

/** A frame has room for the headers of so many. */
export const maxFrameTraces = 64;

export function frameTrace(index: number, context: TraceContext): string {
	return `${index} ${traceparent(context)}`;
}

/** The spans by their events' places. What isn't one is left out: a trace is never a reason to lose an event. */
export function readFrameTraces(
	values: readonly string[],
): Map<number, TraceContext> {
	const traces = new Map<number, TraceContext>();
	for (const value of values.slice(0, maxFrameTraces)) {
		const [, index, text] = /^(\d{1,9}) (\S+)$/.exec(value) ?? [];
		const parsed = parseTraceparent(text);
		if (!parsed) continue;
		const { traceId, spanId } = parsed;
		traces.set(Number(index), { traceId, spanId });
	}
	return traces;
}
