import type { Group } from "./command/group.ts";
import { defineSend } from "./events/sending.ts";
import { defineTail } from "./events/tail.ts";
import { defineStored } from "./events/events.ts";
import { defineExport } from "./events/export.ts";
import { defineImport } from "./events/import.ts";

/** `tidemill events`. */
export function define(events: Group): void {
	defineSend(events);
	defineTail(events);
	defineStored(events);
	defineExport(events);
	defineImport(events);
}
