import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { maxEventBodyBytes } from "../../wire/frame.ts";
import { rawMembers } from "./raw-members.ts";
import { type Row, timeNames } from "./row.ts";

/** A body beside its headers and the names. */
const maxLineBytes = maxEventBodyBytes + 128 * 1024;

/** A line that has a `body` is an event as an Export writes it. Any other line is a body itself. Empty lines are left out. */
export async function* ndjsonRows(file: string): AsyncGenerator<Row> {
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

function rowOf(line: string): Omit<Row, "row"> {
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
