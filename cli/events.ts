import type { Group } from "./command/group.ts";
import { defineSend } from "./event-sending.ts";

/** `tidemill events`. */
export function define(events: Group): void {
	defineSend(events);
}
