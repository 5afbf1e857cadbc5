import { expect, test } from "vitest";
import {
	contextOf,
	newContext,
	parseTraceparent,
	traceparent,
} from "./trace-context.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";

test("a sender's traceparent is read as the standard says", () => {
	const parsed = { traceId, spanId, isSampled: true };
	expect(parseTraceparent(`00-${traceId}-${spanId}-01`)).toEqual(parsed);
	expect(parseTraceparent(`00-${traceId}-${spanId}-00`)?.isSampled).toBe(false);
	expect(parseTraceparent(`cc-${traceId}-${spanId}-03-what-comes`)).toEqual(
		parsed,
	);
});

test.each([
	undefined,
	"",
	"nothing of the kind",
	`00-${traceId}-${spanId}`,
	`00-${traceId}-${spanId}-01-more`,
	`ff-${traceId}-${spanId}-01`,
	`00-${"0".repeat(32)}-${spanId}-01`,
	`00-${traceId}-${"0".repeat(16)}-01`,
	`00-${traceId.toUpperCase()}-${spanId}-01`,
	`cc-${traceId}-${spanId}-01-${"x".repeat(1_000)}`,
])("a sender's traceparent %j is ignored", (text) => {
	expect(parseTraceparent(text)).toBeUndefined();
});

test("a span goes below its parent, and its text leads back to it", () => {
	const child = newContext({ traceId });
	expect(child).toEqual({
		traceId,
		spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
	});
	expect(parseTraceparent(traceparent(child))).toEqual({
		...child,
		isSampled: true,
	});
	expect(newContext(undefined).traceId).not.toBe(newContext(undefined).traceId);
});

test("the span of a name is the same for everybody who knows the name", () => {
	expect(contextOf("run", "a")).toEqual(contextOf("run", "a"));
	expect(contextOf("run", "a")).not.toEqual(contextOf("object", "a"));
	expect(parseTraceparent(traceparent(contextOf("run", "a")))).toBeDefined();
});
