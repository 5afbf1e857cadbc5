import type { NatsConnection } from "@nats-io/transport-node";
import {
	afterEach,
	beforeEach,
	expect,
	onTestFinished,
	test,
	vi,
} from "vitest";
import type { TailPosition } from "../../packages/contracts/event-tail.ts";
import { tailSubject } from "../../packages/contracts/nats.ts";
import type { TailListener } from "../http/endpoint.ts";
import { followArchive } from "./archive-tail.ts";

beforeEach(() => {
	vi.useFakeTimers();
});

afterEach(() => {
	vi.useRealTimers();
});

interface Published {
	subject: string;
	reply: string;
}

/** A NATS where archive answers whatever is said to it, on the reply subject of the latest message. */
class NatsDouble {
	readonly published: Published[] = [];
	readonly subscribed: string[] = [];
	#waiting: object[] = [];
	#wake = Promise.withResolvers<void>();

	get connection(): NatsConnection {
		return {
			publish: (subject: string, _: string, { reply }: { reply: string }) => {
				this.published.push({ subject, reply });
			},
			subscribe: (subject: string) => {
				this.subscribed.push(subject);
				let isOver = false;
				const unsubscribe = () => {
					isOver = true;
					this.#wake.resolve();
				};
				const messages = () => this.#messages(() => isOver);
				return { unsubscribe, [Symbol.asyncIterator]: messages };
			},
		} as unknown as NatsConnection;
	}

	answer(message: object): void {
		this.#waiting.push(message);
		this.#wake.resolve();
	}

	async *#messages(isOver: () => boolean) {
		while (!isOver()) {
			for (const one of this.#waiting.splice(0)) yield { json: () => one };
			await this.#wake.promise;
			this.#wake = Promise.withResolvers<void>();
		}
	}
}

function follow(
	nats: NatsDouble,
	after?: TailPosition,
	onArchive?: (over: AbortController) => void,
) {
	const heard = {
		sequences: [] as number[],
		archive: [] as Parameters<TailListener["onArchive"]>[],
	};
	const over = new AbortController();
	const following = followArchive(
		() => nats.connection,
		{
			account: "shop",
			sourceKey: "5".repeat(32),
			shard: 0,
			withBody: false,
			after,
		},
		{
			onEvents: (events) =>
				heard.sequences.push(...events.map(({ sequence }) => sequence)),
			onLeftOut: () => undefined,
			onArchive: (...said) => {
				heard.archive.push(said);
				onArchive?.(over);
			},
		},
		over.signal,
	);
	onTestFinished(() => over.abort());
	return { heard, following };
}

const said = (change: object = {}) => ({
	ok: true,
	renewOn: "renew",
	events: [],
	position: { stream: "rebuilt", sequence: 4 },
	...change,
});

test("each renewal asks for answers on a subject of its own, so that NATS permits as many again", async () => {
	const nats = new NatsDouble();
	follow(nats);
	for (let second = 0; second < 13; second++) {
		nats.answer(said());
		await vi.advanceTimersByTimeAsync(1_000);
	}
	expect(nats.published.map(({ subject }) => subject)).toEqual([
		tailSubject(0),
		"renew",
		"renew",
		"renew",
	]);
	const replies = nats.published.map(({ reply }) => reply);
	expect(new Set(replies).size).toBe(4);
	const inbox = nats.subscribed[0]!.replace(/\*$/, "");
	expect(nats.subscribed).toEqual([`${inbox}*`]);
	for (const reply of replies) expect(reply.startsWith(inbox)).toBe(true);
});

test("behind a place in a stream that was rebuilt, it shows every event of the new one", async () => {
	const nats = new NatsDouble();
	const { heard } = follow(nats, { stream: "before", sequence: 99 });
	nats.answer(said({ events: [{ sequence: 3, index: 0 }] }));
	await vi.advanceTimersByTimeAsync(0);
	expect(heard.sequences).toEqual([3]);
});

test("what archive sends again is shown once", async () => {
	const nats = new NatsDouble();
	const { heard } = follow(nats, { stream: "rebuilt", sequence: 3 });
	nats.answer(said({ events: [3, 4].map((sequence) => ({ sequence })) }));
	await vi.advanceTimersByTimeAsync(0);
	expect(heard.sequences).toEqual([4]);
});

const refused = (code: string) => ({ ok: false, error: { code, message: "" } });

test("a refused tail says once that there are too many, and is asked for again until there is room", async () => {
	const nats = new NatsDouble();
	const { heard } = follow(nats);
	for (let times = 0; times < 3; times++) {
		nats.answer(refused("TooManyTails"));
		await vi.advanceTimersByTimeAsync(3_000);
	}
	expect(heard.archive).toEqual([[false, "TooManyTails"]]);
	nats.answer(said());
	await vi.advanceTimersByTimeAsync(0);
	nats.answer(refused("TailEnded"));
	await vi.advanceTimersByTimeAsync(0);
	expect(heard.archive.slice(1)).toEqual([[true], [false]]);
});

test("it ends at once if whoever hears that archive is away wants no more", async () => {
	const nats = new NatsDouble();
	const { following } = follow(nats, undefined, (over) => over.abort());
	let hasEnded = false;
	void following.then(() => {
		hasEnded = true;
	});
	nats.answer(refused("TailEnded"));
	await vi.advanceTimersByTimeAsync(0);
	expect(hasEnded).toBe(true);
});
