import { readFileSync } from "node:fs";
import { bodiesOf } from "./bodies.ts";

/** What a load is made of. */
export interface RequestsOrder {
	/** One per source. Requests take turns. */
	paths: string[];
	/** Size of the JSON bodies, which take turns. */
	bodyBytes: number;
	/** A JSON file with {@link CorpusEvent}s in place of those bodies. */
	corpus?: string;
}

export interface CorpusEvent {
	/** The value of the header `x-github-event`, if it has one. */
	type?: string;
	body: string;
}

/** The bytes of the requests. Each path has at least one, and each body. */
export function requestsOf({
	corpus,
	bodyBytes,
	paths,
}: RequestsOrder): Buffer[] {
	const bodies: CorpusEvent[] = corpus
		? JSON.parse(readFileSync(corpus, "utf8"))
		: bodiesOf(bodyBytes).map((body) => ({ body }));
	return Array.from(
		{ length: Math.max(bodies.length, paths.length) },
		(_, turn) => {
			const { type, body } = bodies[turn % bodies.length]!;
			const header = type ? `X-GitHub-Event: ${type}\r\n` : "";
			return requestOf(paths[turn % paths.length]!, body, header);
		},
	);
}

function requestOf(path: string, body: string, header: string): Buffer {
	return Buffer.from(
		`POST ${path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n${header}` +
			`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
	);
}
