import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { maxEventBodyBytes } from "../../wire/frame.ts";
import { type ImportedRow, timeNames } from "./row.ts";

/** A body beside its headers and the names. */
const maxLineBytes = maxEventBodyBytes + 128 * 1024;

/** A line that has a `body` is an event as an Export writes it. Any other line is a body itself. Empty lines are left out. */
export async function* ndjsonRows(file: string): AsyncGenerator<ImportedRow> {
	let row = 0;
	for await (const line of lines(file)) {
		row++;
		if (line === undefined)
			yield { row, fault: `the line has more than ${maxLineBytes} bytes` };
		else if (!isUtf8(line)) yield { row, fault: "the line is not UTF-8" };
		else {
			const text = line.toString("utf8");
			if (/\S/.test(text)) yield { row, ...rowOf(text) };
		}
	}
}

function rowOf(line: string): Omit<ImportedRow, "row"> {
	try {
		JSON.parse(line);
	} catch {
		return { fault: "the line is not JSON" };
	}
	const members = rawMembers(line);
	const time = timeNames
		.map((name) => textIn(members?.get(name)))
		.find((text) => text !== undefined);
	const body = members?.get("body");
	if (body === undefined) return { body: line.trim(), time };
	const headers = members?.get("headers");
	return {
		body,
		time,
		id: textIn(members?.get("event_id")),
		headers: headers === "null" ? undefined : headers,
	};
}

/** Undefined if the value is no text. */
function textIn(json: string | undefined): string | undefined {
	return json?.startsWith('"') ? JSON.parse(json) : undefined;
}

/** Without their ends; undefined in place of one that is too long. */
async function* lines(file: string): AsyncGenerator<Buffer | undefined> {
	let parts: Buffer[] = [];
	let bytes = 0;
	const take = () => {
		const line = bytes > maxLineBytes ? undefined : Buffer.concat(parts);
		parts = [];
		bytes = 0;
		return line;
	};
	const add = (part: Buffer) => {
		bytes += part.length;
		// Of a line that is too long only the length counts.
		if (bytes > maxLineBytes) parts = [];
		else parts.push(part);
	};
	const chunks: AsyncIterable<Buffer> = createReadStream(file, {
		highWaterMark: 1024 ** 2,
	});
	for await (const chunk of chunks) {
		let at = 0;
		for (
			let end = chunk.indexOf(10);
			end >= 0;
			at = end + 1, end = chunk.indexOf(10, at)
		) {
			add(chunk.subarray(at, end));
			yield take();
		}
		add(chunk.subarray(at));
	}
	if (bytes > 0) yield take();
}

/**
 * The members of a JSON object, each with its value's text as it stands there: bodies are stored as they were sent, and
 * numbers may have more digits than JavaScript keeps.
 * @param json A JSON text (RFC 8259). Undefined if it is no object. Of repeated names the last counts.
 */
export function rawMembers(json: string): Map<string, string> | undefined {
	let at = skipSpace(json, 0);
	if (json[at] !== "{") return undefined;
	const members = new Map<string, string>();
	at = skipSpace(json, at + 1);
	while (json[at] !== "}") {
		const nameEnd = endOfString(json, at);
		const name: string = JSON.parse(json.slice(at, nameEnd));
		const start = skipSpace(json, skipSpace(json, nameEnd) + 1);
		const end = endOfValue(json, start);
		members.set(name, json.slice(start, end).trimEnd());
		at = json[end] === "," ? skipSpace(json, end + 1) : end;
	}
	return members;
}

function skipSpace(json: string, at: number): number {
	while (" \t\r\n".includes(json[at] ?? "x")) at++;
	return at;
}

/** @param at Where its first quote is. */
function endOfString(json: string, at: number): number {
	for (let end = at + 1; ; end++) {
		if (json[end] === "\\") end++;
		else if (json[end] === '"') return end + 1;
	}
}

/** Where the comma or bracket is that follows the value. */
function endOfValue(json: string, at: number): number {
	let depth = 0;
	for (let end = at; ; end++) {
		const char = json[end]!;
		if (char === '"') end = endOfString(json, end) - 1;
		else if (char === "{" || char === "[") depth++;
		else if ((char === "}" || char === "]") && depth-- === 0) return end;
		else if (char === "," && depth === 0) return end;
	}
}
