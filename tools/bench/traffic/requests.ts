import { readFileSync } from "node:fs";
import { bodiesOf } from "./bodies.ts";

/** What a load is made of. */
export interface RequestsOrder {
	/** One per source. Requests take turns. */
	paths: string[];
	/** Size of the JSON bodies, which take turns. */
	bodyBytes: number;
	/** A JSON file with a list of bodies in place of those. */
	corpus?: string;
}

/** The bytes of the requests. Each path has at least one, and each body. */
export function requestsOf({
	corpus,
	bodyBytes,
	paths,
}: RequestsOrder): Buffer[] {
	const bodies: string[] = corpus
		? JSON.parse(readFileSync(corpus, "utf8"))
		: bodiesOf(bodyBytes);
	return Array.from(
		{ length: Math.max(bodies.length, paths.length) },
		(_, turn) =>
			requestOf(paths[turn % paths.length]!, bodies[turn % bodies.length]!),
	);
}

function requestOf(path: string, body: string): Buffer {
	return Buffer.from(
		`POST ${path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n` +
			`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
	);
}
