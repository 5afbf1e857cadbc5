import type { Event, Source } from "../generated/types.ts";

/** A JSON text with line breaks, for people; any other text as it is. Numbers keep their digits. */
export function prettyBody(body: string): string {
	try {
		JSON.parse(body);
	} catch {
		return body;
	}
	// By characters, since parsed numbers would lose digits.
	let text = "";
	let depth = 0;
	let isString = false;
	for (let i = 0; i < body.length; i++) {
		const char = body[i]!;
		if (isString) {
			text += char;
			if (char === "\\") text += body[++i] ?? "";
			else if (char === '"') isString = false;
		} else if (char === '"') {
			isString = true;
			text += char;
		} else if (char === "{" || char === "[") {
			const close = /^[\s]*[}\]]/.exec(body.slice(i + 1, i + 200));
			if (close) {
				text += char + close[0].trim();
				i += close[0].length;
			} else text += char + lineOf(++depth);
		} else if (char === "}" || char === "]") text += lineOf(--depth) + char;
		else if (char === ",") text += char + lineOf(depth);
		else if (char === ":") text += ": ";
		else if (!/\s/.test(char)) text += char;
	}
	return text;
}

function lineOf(depth: number): string {
	return `\n${"  ".repeat(depth)}`;
}

/** A word of a POSIX shell. */
function quoted(text: string): string {
	return /^[\w@%+=:,./-]+$/.test(text)
		? text
		: `'${text.replaceAll("'", "'\\''")}'`;
}

/** The request as a command, without its credentials, which aren't stored. */
export function curlOf(
	event: Pick<Event, "body" | "headers" | "queryParameters">,
	webhookURL: string,
): string {
	const query = new URLSearchParams(event.queryParameters).toString();
	return [
		"curl",
		quoted(query ? `${webhookURL}?${query}` : webhookURL),
		...Object.entries(event.headers ?? {}).map(
			([name, value]) => `-H ${quoted(`${name}: ${value}`)}`,
		),
		"-H 'content-type: application/json'",
		`--data-binary ${quoted(event.body ?? "{}")}`,
	].join(" ");
}

/** Whether the API can send it as a new event: it sends objects alone, takes an empty one for none, and has no Source's credential. */
export function canBeSentAgain(
	{ body = "" }: Pick<Event, "body">,
	{ webhook }: Pick<Source, "webhook">,
): boolean {
	const { type = "None" } = webhook?.authorization ?? {};
	return /^\s*\{\s*"/.test(body) && type === "None";
}

/** Sends the stored event to a handler on the visitor's own machine. */
export function replayOf(source: string, id: string): string {
	return `tidemill events replay ${quoted(source)} --event ${quoted(id)} --to http://localhost:3000/hook`;
}
