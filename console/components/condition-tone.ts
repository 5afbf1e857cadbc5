interface Condition {
	type: string;
	status: string;
}

/** Those that are bad while they are True. */
const alarms = new Set(["Failed", "EventsLost", "ArchiveLags", "BufferFills"]);

/** Whether a condition says that all is well; `busy` while nobody knows. */
export function conditionTone({
	type,
	status,
}: Condition): "good" | "bad" | "busy" {
	if (status === "Unknown") return "busy";
	return (status === "True") === alarms.has(type) ? "bad" : "good";
}
