import { createHash } from "node:crypto";
import type { Agent, OutgoingHttpHeaders } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { sendJSON } from "./http-client.ts";

/** What became of the events that were sent. Bodies are known by their MD5, each of them different. */
export interface Sent {
	/** By event id, each event that was answered 200. */
	acknowledged: Map<string, Acknowledged>;
	/** Bodies of requests that were answered 400: none of them is stored. */
	rejected: Set<string>;
	/** Bodies of requests that ended in any other way: they may or may not have been stored. */
	unknown: Set<string>;
	/** How many requests were answered 404, after which real senders give up. */
	notFound: number;
	/** How many requests were answered 503, which real senders repeat. */
	unavailable: number;
}

export interface Acknowledged {
	/** Of the body. */
	digest: string;
	/** When the request went out and when its answer came; milliseconds since the epoch. */
	sentAtMs: number;
	answeredAtMs: number;
}

/**
 * Senders that go on for as long as `isDone` says no, each with one request at a time. A request that fails is not
 * repeated: it counts as unknown.
 */
export async function sendPersistently(options: {
	/** Taken in turn. */
	urls: string[];
	senders: number;
	/** The n-th event's body, different for every n. */
	body: (n: number) => string;
	/** None beside the Content-Type, unless said. */
	headers?: (body: string) => OutgoingHttpHeaders;
	isDone: () => boolean;
	sent: Sent;
	/** What a sender does between two requests: nothing, unless said. May change meanwhile. */
	pauseMs?: number;
	/** Keeps the connections of the first half of the senders. The others connect for each request, as all do without it. */
	agent?: Agent | undefined;
	now?: () => number;
}): Promise<void> {
	const { urls, body, isDone, sent, agent, now = Date.now } = options;
	let n = 0;
	const sendOn = async (_: unknown, sender: number) => {
		const keeps = agent && sender < options.senders / 2;
		const connection = keeps ? { agent } : {};
		while (!isDone()) {
			const url = urls[n % urls.length]!;
			const text = body(n++);
			const digest = md5(text);
			const sentAtMs = now();
			const answer = await sendJSON(url, text, {
				...connection,
				...(options.headers && { headers: options.headers(text) }),
			}).catch(() => undefined);
			if (answer?.status === 200)
				sent.acknowledged.set(answer.json.event_id, {
					digest,
					sentAtMs,
					answeredAtMs: now(),
				});
			else if (answer?.status === 400) sent.rejected.add(digest);
			else {
				sent.unknown.add(digest);
				if (answer?.status === 404) sent.notFound++;
				if (answer?.status === 503) sent.unavailable++;
				// As real senders do: a service that is away is not asked again at once.
				await delay(20);
			}
			if (options.pauseMs) await delay(options.pauseMs);
		}
	};
	await Promise.all(Array.from({ length: options.senders }, sendOn));
}

export function newSent(): Sent {
	return {
		acknowledged: new Map(),
		rejected: new Set(),
		unknown: new Set(),
		notFound: 0,
		unavailable: 0,
	};
}

export function md5(text: string): string {
	return createHash("md5").update(text).digest("hex");
}

/** A row as far as it tells which event it is. */
export interface PlainRow {
	event_id: string;
	/** MD5 of the body. */
	digest: string;
}

/**
 * Which of the promises rows break, in words, none if they keep them: each acknowledged event is there once with its
 * body, and each other row is an event of unknown outcome, there once. No rejected event is there.
 */
export function brokenPromises(
	rows: readonly PlainRow[],
	{ acknowledged, rejected, unknown }: Sent,
): string[] {
	const broken: string[] = [];
	const digests = new Map(
		rows.map(({ event_id, digest }) => [event_id, digest]),
	);
	const twice = rows.length - digests.size;
	if (twice > 0) broken.push(`${twice} rows have an event id of another row`);
	const sameBody = rows.length - new Set(rows.map((row) => row.digest)).size;
	if (sameBody > 0) broken.push(`${sameBody} rows have a body of another row`);
	const missing = [...acknowledged].filter(([id]) => !digests.has(id));
	if (missing.length > 0)
		broken.push(
			`${missing.length} acknowledged events are missing, ${missing[0]![0]} among them`,
		);
	const changed = [...acknowledged].filter(
		([id, { digest }]) => (digests.get(id) ?? digest) !== digest,
	);
	if (changed.length > 0)
		broken.push(
			`${changed.length} acknowledged events have another body, ${changed[0]![0]} among them`,
		);
	const refused = rows.filter(({ digest }) => rejected.has(digest));
	if (refused.length > 0)
		broken.push(
			`${refused.length} rows are of rejected events, ${refused[0]!.event_id} among them`,
		);
	const foreign = rows.filter(
		({ event_id, digest }) =>
			!acknowledged.has(event_id) &&
			!unknown.has(digest) &&
			!rejected.has(digest),
	);
	if (foreign.length > 0)
		broken.push(
			`${foreign.length} rows are of no event that was sent, ${foreign[0]!.event_id} among them`,
		);
	return broken;
}
