import type { PlanDocument } from "../contracts/tracking-plan.ts";

/** An event's type; undefined if it has none. A number or a boolean counts as its JSON text. */
export function eventTypeOf(
	eventType: PlanDocument["eventType"],
	body: unknown,
	header: string | undefined,
): string | undefined {
	if ("constant" in eventType) return eventType.constant;
	if ("header" in eventType) return header || undefined;
	const value = valueAt(body, eventType.bodyPointer);
	if (typeof value === "number" || typeof value === "boolean")
		return String(value);
	return typeof value === "string" && value !== "" ? value : undefined;
}

/** RFC 6901 §4. */
function valueAt(body: unknown, pointer: string): unknown {
	let value = body;
	for (const token of pointer.split("/").slice(1)) {
		const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
		if (typeof value !== "object" || value === null) return undefined;
		if (Array.isArray(value) && !/^(?:0|[1-9]\d*)$/.test(key)) return undefined;
		if (!Object.hasOwn(value, key)) return undefined;
		value = (value as Record<string, unknown>)[key];
	}
	return value;
}
