import { shellWord } from "../../packages/escapes/shell.ts";
import type { Event } from "../generated/types.ts";

/**
 * A JSON text with line breaks, for people; any other text as it is. Numbers keep their digits. A text that line breaks would
 * make many times as long, as of thousands of nested arrays, stays as it is, too.
 * @param atMost so many characters of the beginning are enough
 */
export function prettyBody(body: string, atMost = Infinity): string {
	try {
		JSON.parse(body);
	} catch {
		return body;
	}
	const most = Math.min(atMost, 10_000 + 4 * body.length);
	// By characters, since parsed numbers would lose digits.
	const parts: string[] = [];
	let length = 0;
	let depth = 0;
	const add = (part: string) => {
		parts.push(part);
		length += part.length;
	};
	for (let i = 0; i < body.length && length < most; i++) {
		const char = body[i]!;
		if (char === '"') {
			const end = endOfString(body, i);
			add(body.slice(i, end));
			i = end - 1;
		} else if (char === "{" || char === "[") {
			const close = /^[\s]*[}\]]/.exec(body.slice(i + 1, i + 200));
			if (close) {
				add(char + close[0].trim());
				i += close[0].length;
			} else add(char + lineOf(++depth));
		} else if (char === "}" || char === "]") add(lineOf(--depth) + char);
		else if (char === ",") add(char + lineOf(depth));
		else if (char === ":") add(": ");
		else if (!/\s/.test(char)) add(char);
	}
	return length < most || most === atMost ? parts.join("") : body;
}

/** Behind the closing quotation mark of the string that begins there. */
function endOfString(body: string, start: number): number {
	let end = start + 1;
	while (body[end] !== '"') end += body[end] === "\\" ? 2 : 1;
	return end + 1;
}

function lineOf(depth: number): string {
	return `\n${"  ".repeat(depth)}`;
}

/** The request as a command, without its credentials, which aren't stored. */
export function curlOf(
	event: Pick<Event, "body" | "headers" | "queryParameters">,
	webhookURL: string,
): string {
	const query = new URLSearchParams(event.queryParameters).toString();
	return [
		"curl",
		shellWord(query ? `${webhookURL}?${query}` : webhookURL),
		...Object.entries(event.headers ?? {}).map(
			([name, value]) => `-H ${shellWord(`${name}: ${value}`)}`,
		),
		"-H 'content-type: application/json'",
		`--data-binary ${shellWord(event.body ?? "{}")}`,
	].join(" ");
}

/** Sends the stored event to a handler on the visitor's own machine. */
export function replayOf(source: string, id: string): string {
	return `tidemill events replay ${shellWord(source)} --event ${shellWord(id)} --to http://localhost:3000/hook`;
}

/**
 * The event id in a text that somebody pasted: the id alone, in any case and in quotes or brackets, or a line of JSON or of a log
 * that has it. Undefined if there is none.
 */
export function eventIdIn(text: string): string | undefined {
	return /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/i
		.exec(text)?.[0]
		.toLowerCase();
}
