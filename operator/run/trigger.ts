import type { Run, RunStatus } from "../../crds/generated/types.ts";
import { annotation } from "../../crds/labels.ts";

/** What created a Run. Its status has it from the start on. */
export function triggerOf({
	metadata,
	status,
}: Run): NonNullable<RunStatus["trigger"]> {
	if (status?.trigger) return status.trigger;
	const trigger = metadata.annotations?.[annotation.trigger];
	return trigger === "Schedule" || trigger === "API" ? trigger : "Manual";
}
