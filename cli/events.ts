import type { Group } from "./command/group.ts";
import { defineSend } from "./event-sending.ts";
import { defineTail } from "./live/tail.ts";
import { defineStored } from "./stored/events.ts";
import { defineExport } from "./stored/export.ts";
import { defineImport } from "./stored/import.ts";

/** `tidemill events`. */
export function define(events: Group): void {
	defineSend(events);
	defineTail(events);
	defineStored(events);
	defineExport(events);
	defineImport(events);
}
