import { Agent, type RequestOptions, request } from "node:http";
import { expect, vi } from "vitest";
import { type BehaviourName, Flood } from "./flood.ts";

/** How many connections a server under siege should take. */
export const mostUnderSiege = 60;

/**
 * Has strangers of two networks open twice as many connections as the server may have, and meanwhile sends requests of somebody
 * else: over new connections, over one that is kept, and one that was in flight when the strangers came. Expects that
 * each is answered 200.
 */
export async function besiege(
	port: number,
	behaviour: BehaviourName,
	honest: {
		options: RequestOptions;
		body?: string;
		/** Its body is finished when the strangers are there. Only where requests have bodies. */
		isSlow?: boolean;
	},
): Promise<void> {
	const { options, body = "", isSlow = false } = honest;
	const to = { host: "127.0.0.1", port, ...options };
	const kept = new Agent({ keepAlive: true, maxSockets: 1 });
	const slow = isSlow ? begin({ ...to, agent: false }) : undefined;
	slow?.sent.write(body.slice(0, 1));
	expect(await send({ ...to, agent: kept }, body)).toBe(200);
	const flood = new Flood({
		port,
		behaviour,
		connections: 2 * mostUnderSiege,
		addresses: ["127.0.1.1", "127.0.2.1"],
	});
	try {
		const isThere = () =>
			expect(flood.opened).toBeGreaterThan(2 * mostUnderSiege - 1);
		await vi.waitFor(isThere, { timeout: 120_000 });
		for (let round = 0; round < 20; round++) {
			expect(await send({ ...to, agent: false }, body)).toBe(200);
			expect(await send({ ...to, agent: kept }, body)).toBe(200);
		}
		const together = Array.from({ length: 2 }, () =>
			send({ ...to, agent: false }, body),
		);
		expect(new Set(await Promise.all(together))).toEqual(new Set([200]));
		slow?.sent.end(body.slice(1));
		if (slow) expect(await slow.answered).toBe(200);
	} finally {
		flood.stop();
		kept.destroy();
	}
}

function begin(options: RequestOptions) {
	const sent = request(options);
	const answered = new Promise<number | undefined>((resolve, reject) => {
		sent.on("error", reject);
		sent.on("response", (response) => {
			response.resume();
			response.on("end", () => resolve(response.statusCode));
		});
	});
	// It is awaited later.
	answered.catch(() => undefined);
	return { sent, answered };
}

function send(
	options: RequestOptions,
	body: string,
): Promise<number | undefined> {
	const { sent, answered } = begin(options);
	sent.end(body);
	return answered.catch((error: NodeJS.ErrnoException) => {
		// The server may end an idle connection just before (nodejs.org/api/http.html, request.reusedSocket).
		if (sent.reusedSocket && error.code === "ECONNRESET")
			return send(options, body);
		throw error;
	});
}
