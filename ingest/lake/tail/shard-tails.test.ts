import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { expect, onTestFinished, test } from "vitest";
import type { TailMessage } from "../../../packages/contracts/event-tail.ts";
import { FairRoom } from "../../../packages/fair/fair-room.ts";
import { createLog } from "../../../packages/service/log.ts";
import { maxHeldBytes } from "./held-frames.ts";
import { ShardTails } from "./shard-tails.ts";

/** NATS, as far as a request goes in and its answers come out. */
function shardTails() {
	const listeners: ((error: null, message: Msg) => void)[] = [];
	const connection = {
		subscribe: (_: string, { callback }: { callback: () => void }) => {
			listeners.push(callback);
			return { unsubscribe: () => undefined };
		},
	} as unknown as NatsConnection;
	const tails = new ShardTails({
		connection,
		shard: 0,
		held: new FairRoom(maxHeldBytes),
		log: createLog("test"),
	});
	onTestFinished(() => tails.close());
	const ask = (listener: number, text: string) => {
		const answers: TailMessage[] = [];
		listeners[listener]!(null, {
			string: () => text,
			json: () => JSON.parse(text),
			respond: (answer: string) => answers.push(JSON.parse(answer)),
		} as unknown as Msg);
		return answers;
	};
	return {
		tails,
		open: (text: string) => ask(0, text),
		renew: (text: string) => ask(1, text),
	};
}

const request = {
	tail: "4c6e4a3c-6f0d-4b57-8f0d-1d8f6e3b5a10",
	account: "shop",
	sourceKey: "5a".repeat(16),
};
const after = { stream: "tidemill-frames-0-0123456789abcdef", sequence: 1 };

test.each([
	"x",
	"null",
	"[]",
	...[
		{ tail: "t" },
		{ account: "SHOP" },
		{ account: ["shop"] },
		{ sourceKey: "5a" },
		{ after: null },
		{ after: { ...after, stream: "" } },
		{ after: { ...after, sequence: "1" } },
		{ after: { ...after, index: -1 } },
	].map((change) => JSON.stringify({ ...request, ...change })),
])("the request %s is refused, and archive goes on", (text) => {
	const { tails, open } = shardTails();
	expect(open(text)).toMatchObject([
		{ ok: false, error: { code: "QuestionInvalid" } },
	]);
	expect(tails.size).toBe(0);
});

test.each(["x", "null", '{"tail":1}'])(
	"the renewal %s is refused, and archive goes on",
	(text) => {
		const { renew } = shardTails();
		expect(renew(text)).toMatchObject([
			{ ok: false, error: { code: "QuestionInvalid" } },
		]);
	},
);

test("a request as the API sends it opens a tail", () => {
	const { tails, open } = shardTails();
	open(JSON.stringify({ ...request, body: false, after }));
	expect(tails.size).toBe(1);
});
