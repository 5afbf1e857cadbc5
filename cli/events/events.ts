import type { CommandGroup } from "../command/group.ts";
import { defineErase } from "./erase.ts";
import { defineExport } from "./export.ts";
import { defineImport } from "./import.ts";
import { defineReplay } from "./replay.ts";
import { defineSend } from "./sending.ts";
import { defineStored } from "./stored.ts";
import { defineTail } from "./tail.ts";

/** `tidemill events`. */
export function define(events: CommandGroup): void {
	defineSend(events);
	defineTail(events);
	defineReplay(events);
	defineStored(events);
	defineExport(events);
	defineImport(events);
	defineErase(events);
}
