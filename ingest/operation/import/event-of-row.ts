import { createHash } from "node:crypto";
import { type UtcDate, utcDate } from "../../../packages/contracts/utc-date.ts";
import { maxEventBodyBytes } from "../../wire/frame.ts";
import type { ContentKind } from "../../wire/frame-event.ts";
import { areHeaders } from "../../wire/imported-headers.ts";
import type { ImportedRow } from "./row.ts";

/** An event made of a row. */
export interface ImportedEvent {
	/** UUIDv7, 16 bytes. */
	id: Buffer;
	timeMs: number;
	date: UtcDate;
	kind: ContentKind;
	headers: string;
	body: Buffer;
}

export interface RowRules {
	/** SHA-256 of the file. */
	digest: Buffer;
	/** Of rows without a time. */
	date?: UtcDate | undefined;
	keptFrom: UtcDate;
	nowMs: number;
}

/** The event, or what is wrong with the row. */
export function eventOfRow(
	row: ImportedRow,
	{ digest, date, keptFrom, nowMs }: RowRules,
): ImportedEvent | { fault: string } {
	if (row.fault !== undefined || row.body === undefined)
		return { fault: row.fault ?? "there is no body" };
	const timeMs = timeOf(row, date);
	if (typeof timeMs === "string") return { fault: timeMs };
	if (timeMs > nowMs) return { fault: "its time is in the future" };
	const own = utcDate(timeMs);
	if (own < keptFrom)
		return {
			fault: `events of ${own} are not kept; the first date is ${keptFrom} (spec.retentionDays of the Source)`,
		};
	if (!row.body.isWellFormed())
		return { fault: "its body has half of a surrogate pair" };
	const body = Buffer.from(row.body);
	if (body.length > maxEventBodyBytes)
		return { fault: `its body has more than ${maxEventBodyBytes} bytes` };
	if (!isJson(row.body)) return { fault: "its body is not JSON" };
	const headers = row.headers ?? "";
	if (headers !== "" && !areHeaders(headers))
		return {
			fault: "its headers are no object of texts in Unicode of 60 KiB at most",
		};
	const id = ownId(row.id, timeMs) ?? madeId(timeMs, digest, row);
	const kind = row.isForm && /^\s*\{/.test(row.body) ? "form" : "json";
	return { id, timeMs, date: own, kind, headers, body };
}

/** Or with an offset of hours alone, as in rows of `tidemill sql`. */
const rfc3339 =
	/^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d(?:\.\d+)?)([Zz]|[+-]\d\d(?::\d\d)?)$/;

function timeOf(
	{ time, otherTime }: ImportedRow,
	date: UtcDate | undefined,
): number | string {
	if (time === undefined) {
		if (date !== undefined) return Date.parse(date);
		return otherTime === undefined
			? "it has no time: no timestamp, received_at or time. Set spec.import.date to give it one"
			: `${otherTime}, and a time must be text of RFC 3339 such as "2026-01-01T00:00:00Z". Set spec.import.date to give it a date instead`;
	}
	if (typeof time === "number")
		return time < 0 ? "its time is too early" : time;
	const [, day, clock, offset = ""] = rfc3339.exec(time) ?? [];
	const zone = offset.length === 3 ? `${offset}:00` : offset.toUpperCase();
	const ms = Date.parse(`${day}T${clock}${zone}`);
	// JavaScript takes 30 February for 2 March.
	const isDay = new Date(Date.parse(`${day}`)).toJSON()?.startsWith(day!);
	return ms >= 0 && isDay
		? ms
		: `its time is ${JSON.stringify(time.slice(0, 40))}, and must be one of RFC 3339 such as 2026-01-01T00:00:00Z`;
}

/** An ID that Tidemill gave: version 7, with the row's time (RFC 9562 §5.7). So an event that was exported stays the same. */
function ownId(text: string | undefined, timeMs: number): Buffer | undefined {
	const form =
		/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
	if (text === undefined || !form.test(text)) return undefined;
	const id = Buffer.from(text.replaceAll("-", ""), "hex");
	return id.readUIntBE(0, 6) === timeMs ? id : undefined;
}

/** The same for the same row of the same file, read in the same way. */
function madeId(
	timeMs: number,
	digest: Buffer,
	{ row, reading }: ImportedRow,
): Buffer {
	const number = Buffer.alloc(8);
	number.writeBigUInt64BE(BigInt(row));
	const id = createHash("sha256")
		.update(digest)
		.update(number)
		.update(reading ?? "")
		.digest()
		.subarray(0, 16);
	id.writeUIntBE(timeMs, 0, 6);
	id[6] = (id[6]! & 0x0f) | 0x70;
	id[8] = (id[8]! & 0x3f) | 0x80;
	return id;
}

export function isJson(text: string): boolean {
	try {
		JSON.parse(text);
		return true;
	} catch {
		return false;
	}
}
