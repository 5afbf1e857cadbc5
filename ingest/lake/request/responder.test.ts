import { setImmediate } from "node:timers/promises";
import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { expect, test, vi } from "vitest";
import type { Logger } from "../../../packages/service/log.ts";
import { Responder } from "./responder.ts";

const asked = JSON.stringify({ account: "shop", sourceKeys: ["a".repeat(32)] });

/** What the requester gets, of a server that takes messages of 1,000 bytes. */
async function answersOf(answer: object | Uint8Array, isClosed = false) {
	let ask: (error: null, message: Msg) => void = () => {};
	const connection = {
		subscribe: (_: string, { callback }: { callback: typeof ask }) => {
			ask = callback;
		},
	} as unknown as NatsConnection;
	const log = { warn() {} } as unknown as Logger;
	new Responder({ connection, shard: 0, log }, { events: async () => answer });
	const sent: string[] = [];
	const respond = (payload: string | Uint8Array) => {
		if (isClosed) throw new Error("closed connection");
		if (payload.length > 1_000) throw new Error("max_payload exceeded");
		sent.push(payload.toString());
	};
	ask(null, { respond, string: () => asked } as unknown as Msg);
	await setImmediate();
	return sent.map((text) => JSON.parse(text));
}

test.each([
	["text", { text: "x".repeat(2_000) }],
	["bytes", Buffer.alloc(2_000)],
])("an answer that NATS doesn't take is refused: %s", async (_, answer) => {
	expect(await answersOf(answer)).toEqual([
		{
			ok: false,
			error: {
				code: "AnswerUnsendable",
				message: expect.stringMatching(
					/can't be sent \(error [0-9a-f]{8} in the log of archive\)/,
				),
				retryable: false,
			},
		},
	]);
});

test("an answer that fits is sent as it is", async () => {
	expect(await answersOf({ ok: true })).toEqual([{ ok: true }]);
});

test("a closed connection ends no process", async () => {
	// Vitest fails a run with a rejection that nobody handles.
	expect(await answersOf({ ok: true }, true)).toEqual([]);
});

test("a subscription that NATS refuses is tried again, until it is granted or archive stops", async () => {
	vi.useFakeTimers();
	const callbacks: ((error: Error | null) => void)[] = [];
	const unsubscribe = vi.fn();
	const connection = {
		isClosed: () => false,
		subscribe: (_: string, options: { callback: (typeof callbacks)[0] }) => {
			callbacks.push(options.callback);
			return { unsubscribe };
		},
	} as unknown as NatsConnection;
	const log = { error() {} } as unknown as Logger;
	const responder = new Responder(
		{ connection, shard: 0, log },
		{ events: async () => ({}) },
	);
	callbacks[0]!(new Error("Permissions Violation"));
	await vi.advanceTimersByTimeAsync(10_000);
	expect(callbacks).toHaveLength(2);
	expect(unsubscribe).toHaveBeenCalledOnce();
	callbacks[1]!(new Error("Permissions Violation"));
	responder.close();
	await vi.advanceTimersByTimeAsync(60_000);
	expect(callbacks).toHaveLength(2);
	vi.useRealTimers();
});
