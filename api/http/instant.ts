import { invalidParameter } from "./errors.ts";

/**
 * The instant in RFC 3339 that a parameter names: of a date, its first one as `from` and its last one as `to`. A time without
 * an offset is none, since nobody knows whose clock it is of. Throws a 400 for anything else.
 */
export function instantOf(name: "from" | "to", text: string): string {
	const end = name === "from" ? "T00:00:00.000Z" : "T23:59:59.999Z";
	const ms = date.test(text)
		? Date.parse(text + end)
		: dateTime.test(text)
			? Date.parse(text)
			: Number.NaN;
	const year = new Date(ms).getUTCFullYear();
	if (year >= 0 && year <= 9999) return new Date(ms).toISOString();
	throw invalidParameter(
		name,
		"must be a date or a time, such as 2026-03-01 or 2026-03-01T12:00:00Z",
		text,
	);
}

const date = /^\d{4}-\d\d-\d\d$/;
const dateTime =
	/^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;
