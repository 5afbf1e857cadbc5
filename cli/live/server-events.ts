export interface ServerEvent {
	id?: string;
	name: string;
	data: object;
}

/** One line of an API that is broken, or isn't Tidemill's, must not fill the memory. */
const maxLength = 16 * 1024 * 1024;

/** Reads server-sent events whose data is a JSON object (WHATWG HTML, "Server-sent events"). Comments and others are skipped. */
export async function* readServerEvents(
	body: AsyncIterable<Uint8Array>,
): AsyncGenerator<ServerEvent> {
	const decoder = new TextDecoder();
	let rest = "";
	for await (const chunk of body) {
		rest += decoder.decode(chunk, { stream: true });
		const blocks = rest.split(/\r?\n\r?\n/);
		rest = blocks.pop()!;
		if (rest.length > maxLength)
			throw new Error("the answer is not one of server-sent events");
		for (const block of blocks) {
			const event = eventIn(block);
			if (event) yield event;
		}
	}
}

function eventIn(block: string): ServerEvent | undefined {
	const fields = new Map<string, string>();
	for (const line of block.split(/\r?\n/)) {
		const match = /^(id|event|data): ?(.*)$/.exec(line);
		if (match) fields.set(match[1]!, match[2]!);
	}
	const data = fields.get("data");
	if (data === undefined) return undefined;
	const id = fields.get("id");
	return {
		...(id !== undefined && { id }),
		name: fields.get("event") ?? "message",
		data: JSON.parse(data),
	};
}
