import type { Msg, Subscription } from "@nats-io/transport-node";
import { expect, onTestFinished, test, vi } from "vitest";
import { createLog } from "../log.ts";
import { subscribeLasting } from "./lasting-subscription.ts";

type Callback = (error: Error | null, message: Msg) => void;

function connection() {
	const made: { callback: Callback; isOpen: boolean }[] = [];
	return {
		made,
		isClosed: () => false,
		subscribe: (_: string, options?: { callback?: Callback }) => {
			const one = { callback: options!.callback!, isOpen: true };
			made.push(one);
			return {
				unsubscribe: () => Object.assign(one, { isOpen: false }),
			} as unknown as Subscription;
		},
	};
}

test("a subscription that NATS refuses is made again, and none after the end", async () => {
	vi.useFakeTimers();
	onTestFinished(() => void vi.useRealTimers());
	const nats = connection();
	const seen: Msg[] = [];
	const ending = new AbortController();
	subscribeLasting({
		connection: nats as never,
		subject: "tidemill.receive.again",
		queue: "receive",
		log: createLog("test"),
		onMessage: (message) => seen.push(message),
		signal: ending.signal,
	});
	const refuse = () =>
		nats.made.at(-1)!.callback(new Error("permissions violation"), {} as Msg);
	refuse();
	await vi.advanceTimersByTimeAsync(10_000);
	expect(nats.made).toHaveLength(2);
	nats.made[1]!.callback(null, { sid: 1 } as Msg);
	expect(seen).toEqual([{ sid: 1 }]);
	refuse();
	ending.abort();
	await vi.advanceTimersByTimeAsync(10_000);
	expect(nats.made).toHaveLength(2);
	expect(nats.made.every(({ isOpen }) => !isOpen)).toBe(true);
});
