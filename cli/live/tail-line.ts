import { table } from "../command/output.ts";
import type { ServerEvent } from "./server-events.ts";

/** One line for an event or a refused request: time, what became of it, and what identifies it. */
export function tailLine({ name, data }: ServerEvent): string {
	const { time, eventID, type, bytes, violations, body, ...refusal } =
		data as Partial<Record<string, string>>;
	const cells =
		name === "refused"
			? [`${refusal.status} ${refusal.code}`, refusal.bodyHead]
			: [eventID, type, `${bytes} B`, violations && String(violations), body];
	return table([
		[time ?? "", name.padEnd(11), ...cells.filter(Boolean).map(String)],
	]);
}
