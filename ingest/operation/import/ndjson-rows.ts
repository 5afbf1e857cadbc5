import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import {
	decoded,
	JsonReader,
	openBrace,
} from "../../../packages/json/json-reader.ts";
import { maxEventBodyBytes } from "../../wire/frame.ts";
import { isJson } from "./event-of-row.ts";
import {
	bodyChoices,
	type ImportedRow,
	otherNames,
	type RowForm,
	rowsChoices,
	timeNames,
} from "./row.ts";

/** A body beside its headers and the names. */
const maxLineBytes = maxEventBodyBytes + 128 * 1024;

/** A line is an event with a `body`, or a body itself. Empty lines are left out. */
export async function* ndjsonRows(
	file: string,
	form: RowForm = {},
): AsyncGenerator<ImportedRow> {
	let row = 0;
	for await (const line of lines(file)) {
		row++;
		if (line === undefined)
			yield { row, fault: `the line has more than ${maxLineBytes} bytes` };
		else if (!isUtf8(line)) yield { row, fault: "the line is not UTF-8" };
		else {
			// Some tools begin a file with a byte order mark.
			const text = line.toString("utf8").replace(/^\uFEFF/, "");
			if (/\S/.test(text)) yield { row, ...rowOf(text, form) };
		}
	}
}

type Row = Omit<ImportedRow, "row">;

function rowOf(line: string, form: RowForm): Row {
	if (!isJson(line)) return { fault: "the line is not JSON" };
	const members = rawMembers(line);
	const time = timeIn(members);
	// Who says what the text in `body` is says that rows are events.
	const rows = form.rows ?? (form.body && "Events");
	const body = members?.get("body");
	if (rows === "Bodies" || (rows === undefined && body === undefined))
		return {
			...(body !== undefined && { reading: "Bodies" }),
			body: line.trim(),
			...time,
		};
	if (!members || body === undefined)
		return { fault: "it has no member body, which --rows events asks for" };
	const written = formats.get(textIn(members.get("bodyFormat")));
	const isExported = written !== undefined && members.has("event_id");
	if (rows === undefined && !isExported && members.size > 1) {
		const has = `body beside ${otherNames(members.keys())}`;
		return { undecided: { has, choices: rowsChoices } };
	}
	const headers = members.get("headers");
	return {
		...bodyOf(body, written ?? form.body),
		...time,
		id: textIn(members.get("event_id")),
		headers: headers === "null" ? undefined : (textIn(headers) ?? headers),
		...(isExported &&
			textIn(members.get("kind")) === "form" && { isForm: true as const }),
	};
}

const formats: ReadonlyMap<string | undefined, RowForm["body"]> = new Map([
	["json", "JSON"],
	["text", "Text"],
]);

function bodyOf(json: string, format: RowForm["body"]): Row {
	if (format === "JSON") return { body: json };
	const text = textIn(json);
	if (format === "Text")
		return text === undefined
			? { fault: "its body is no text, which --body text asks for" }
			: { reading: "Text", body: text };
	return text !== undefined && isJson(text)
		? { undecided: { has: "JSON as a text in body", choices: bodyChoices } }
		: { body: json };
}

/** The first time that is text; else the first value that might be one. */
function timeIn(
	members: ReadonlyMap<string, string> | undefined,
): Pick<ImportedRow, "time" | "otherTime"> {
	const found = timeNames.flatMap((name) => {
		const json = members?.get(name);
		return json === undefined || json === "null" ? [] : [{ name, json }];
	});
	const time = found
		.map(({ json }) => textIn(json))
		.find((text) => text !== undefined);
	const [other] = found;
	return time === undefined && other
		? { time, otherTime: `${other.name} is ${other.json.slice(0, 40)}` }
		: { time };
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
	return new RawMembers(json).read();
}

class RawMembers extends JsonReader {
	read(): Map<string, string> | undefined {
		if (this.next() !== openBrace) return undefined;
		const members = new Map<string, string>();
		this.members((written) => members.set(decoded(written), this.text()));
		return members;
	}
}
