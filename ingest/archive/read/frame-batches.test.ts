import { type Consumer, JetStreamError, type JsMsg } from "@nats-io/jetstream";
import { expect, test } from "vitest";
import { FrameBatches, MessageTooLarge } from "./frame-batches.ts";

/** A stream whose batches end as said, with an error or by their time. */
function consumerOf(...batches: [messages: number[], end?: string][]) {
	return {
		fetch: async () => {
			const [messages, end] = batches.shift()!;
			const all = async function* () {
				for (const seq of messages) yield { seq };
				if (end) throw new JetStreamError(end);
			};
			return Object.assign(all(), { stop: () => undefined });
		},
		delete: async () => true,
	} as unknown as Consumer;
}

test("a batch that is full or complete is followed by the next one", async () => {
	const batches = new FrameBatches(
		consumerOf(
			[[1, 2], "Message Size Exceeds MaxBytes"],
			[[3], "Batch Completed"],
			[[]],
		),
	);
	const seen: number[] = [];
	const take = ({ seq }: JsMsg) => seen.push(seq) > 0;
	for (let i = 0; i < 3; i++) expect(await batches.read(take)).toBe(true);
	expect(seen).toEqual([1, 2, 3]);
});

test("a message that no batch can have is an error, and so is any other end", async () => {
	const batches = new FrameBatches(
		consumerOf(
			[[], "Message Size Exceeds MaxBytes"],
			[[1], "Consumer Deleted"],
		),
	);
	const take = () => true;
	await expect(batches.read(take)).rejects.toThrow(MessageTooLarge);
	await expect(batches.read(take)).rejects.toThrow("Consumer Deleted");
});

test("it ends when its reader stops it, and when it is closed", async () => {
	const batches = new FrameBatches(consumerOf([[1, 2]], [[3, 4]]));
	const seen: number[] = [];
	const take = ({ seq }: JsMsg) => {
		seen.push(seq);
		if (seq === 3) void batches.close();
		return seq !== 1;
	};
	expect(await batches.read(take)).toBe(false);
	expect(await batches.read(take)).toBe(false);
	expect(seen).toEqual([1, 3]);
});
