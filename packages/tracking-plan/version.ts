import { createHash } from "node:crypto";
import type { PlanDocument } from "../contracts/tracking-plan.ts";

/** The version of a plan: the same for documents that validate alike, in whatever order their fields stand. */
export function planVersion(document: PlanDocument): string {
	const { eventType, common, events } = document;
	const { onUnplannedEvent, onViolation, onUnplannedProperty } = document;
	const validates = {
		eventType,
		common,
		events: events.map(({ type, schema }) => ({ type, schema })),
		onUnplannedEvent,
		onViolation,
		onUnplannedProperty,
	};
	return createHash("sha256")
		.update(JSON.stringify(validates, inOrder))
		.digest("hex")
		.slice(0, 16);
}

function inOrder(_: string, value: unknown): unknown {
	if (typeof value !== "object" || value === null || Array.isArray(value))
		return value;
	return Object.fromEntries(
		Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)),
	);
}
