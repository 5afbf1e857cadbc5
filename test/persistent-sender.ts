import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { sendJSON } from "./http-client.ts";

/** What became of the events that were sent. Bodies are known by their MD5, each of them different. */
export interface Sent {
	/** Event id → body of each event that was answered 200. */
	acknowledged: Map<string, string>;
	/** Bodies of requests that ended in any other way: they may or may not have been stored. */
	unknown: Set<string>;
}

/**
 * Senders that go on for as long as `isDone` says no, each with one request at a time; `body` gives the n-th one's body,
 * different for every n. A request that fails is not repeated: it counts as unknown.
 */
export async function sendPersistently(
	url: string,
	senders: number,
	body: (n: number) => string,
	isDone: () => boolean,
	sent: Sent,
): Promise<void> {
	let n = 0;
	const sendOn = async () => {
		while (!isDone()) {
			const text = body(n++);
			const digest = md5(text);
			const answer = await sendJSON(url, text).catch(() => undefined);
			if (answer?.status === 200)
				sent.acknowledged.set(answer.json.event_id, digest);
			else {
				sent.unknown.add(digest);
				// As real senders do: a service that is away is not asked again at once.
				await delay(20);
			}
		}
	};
	await Promise.all(Array.from({ length: senders }, sendOn));
}

export function md5(text: string): string {
	return createHash("md5").update(text).digest("hex");
}
