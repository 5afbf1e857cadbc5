import { beforeEach, expect, test } from "vitest";
import { type RequestRefusal, refusals } from "../request/refusal.ts";
import type {
	BatchAnswer,
	EventBatch,
	PlanVerdict,
} from "./thread-messages.ts";
import { ValidationQueue } from "./validation-queue.ts";

/** A thread that answers when the test says so. */
class HandThread {
	isUp = true;
	readonly penalized = new Set<number>();
	readonly forgotten: number[] = [];
	readonly batches: EventBatch[] = [];
	readonly #answers: ((answer: BatchAnswer | undefined) => void)[] = [];

	validate(batch: EventBatch, onAnswer: (answer?: BatchAnswer) => void): void {
		this.batches.push(batch);
		this.#answers.push(onAnswer);
	}

	forget(plan: number): void {
		this.forgotten.push(plan);
	}

	isPenalized(plan: number): boolean {
		return this.penalized.has(plan);
	}

	/** Answers the oldest batch. @param tookMs of its first events; the others are left. All by default. */
	answer(tookMs: number[] = this.batches[0]!.plans.map(() => 0.01)): void {
		const { plans, bytes } = this.batches.shift()!;
		const verdicts = tookMs.map(
			(_, i): PlanVerdict => ({
				outcome: "Accept",
				record: `${plans[i]}`,
				kinds: [],
			}),
		);
		this.#answers.shift()!({ verdicts, tookMs, readiedAgain: 0, bytes });
	}

	die(): void {
		this.isUp = false;
		this.batches.splice(0);
		for (const onAnswer of this.#answers.splice(0)) onAnswer(undefined);
	}
}

let thread: HandThread;
let deferred: (() => void)[];
let nowMs: number;
let queue: ValidationQueue;
/** The senders' answers, in order: the account and its verdict or refusal. */
let answers: [string, string][];

beforeEach(() => {
	thread = new HandThread();
	deferred = [];
	nowMs = 0;
	answers = [];
	queue = new ValidationQueue({
		thread,
		defer: (run) => deferred.push(run),
		now: () => nowMs,
	});
});

function add(account: string, body = "{}", plan = 1): void {
	const text = Buffer.from(body);
	queue.add({
		account,
		plan,
		header: account,
		parts: [text.subarray(0, 1), text.subarray(1)],
		bytes: text.length,
		waitingSinceMs: nowMs,
		onValidated: (outcome: PlanVerdict | RequestRefusal) =>
			answers.push([
				account,
				"status" in outcome ? outcome.code : outcome.record,
			]),
	});
}

/** One turn of the event loop. */
function turn(): void {
	for (const run of deferred.splice(0)) run();
}

function bodiesOf({ ends, bytes }: EventBatch): string[] {
	return ends.map((end, i) =>
		Buffer.from(bytes, ends[i - 1] ?? 0, end - (ends[i - 1] ?? 0)).toString(),
	);
}

test("what comes in one turn of the event loop is validated together, each body as it is", () => {
	add("shop", '{"n":1}', 7);
	add("shop", "[2]", 8);
	add("bank", "3");
	expect(thread.batches).toEqual([]);
	turn();
	expect(thread.batches).toHaveLength(1);
	const [batch] = thread.batches;
	// Accounts take turns.
	expect(bodiesOf(batch!)).toEqual(['{"n":1}', "3", "[2]"]);
	expect(batch).toMatchObject({
		plans: [7, 1, 8],
		headers: ["shop", "bank", "shop"],
	});
	thread.answer();
	expect(answers).toEqual([
		["shop", "7"],
		["bank", "1"],
		["shop", "8"],
	]);
});

test("the thread has two batches at most; the next is sent as soon as one is answered", () => {
	for (let n = 0; n < 5; n++) {
		add("shop", String(n));
		turn();
	}
	expect(thread.batches.map(bodiesOf)).toEqual([["0"], ["1"]]);
	thread.answer();
	expect(thread.batches.map(bodiesOf)).toEqual([["1"], ["2", "3", "4"]]);
	thread.answer();
	thread.answer();
	expect(answers).toHaveLength(5);
});

test("a batch is bounded in events and bytes, and a larger body goes alone, as it is", () => {
	for (let n = 0; n < 200; n++) add("shop");
	turn();
	expect(thread.batches.map(({ plans }) => plans.length)).toEqual([128, 72]);
	thread.answer();
	thread.answer();
	const large = `"${"x".repeat(1_000_000)}"`;
	add("shop", `"${"y".repeat(200_000)}"`);
	add("shop", `"${"z".repeat(200_000)}"`);
	add("shop", large);
	turn();
	expect(thread.batches.map(({ plans }) => plans.length)).toEqual([1, 1]);
	thread.answer();
	thread.answer();
	expect(thread.batches.map(bodiesOf)).toEqual([[large]]);
	thread.answer();
	expect(answers).toHaveLength(203);
});

test("events that the thread had no time for are validated before what came after them", () => {
	for (let n = 0; n < 4; n++) add("shop", String(n));
	turn();
	add("shop", "4");
	add("bank", "5");
	thread.answer([1]);
	expect(bodiesOf(thread.batches[0]!)).toEqual(["1", "5", "2", "3", "4"]);
	thread.answer();
	expect(answers).toHaveLength(6);
});

test("an account with costly events gets as much of the thread's time as others, not as many events", () => {
	const cost = { mallory: 20, bank: 0.1 };
	const ms = { mallory: 0, bank: 0 };
	/** The thread leaves what it can't begin within 8 ms. */
	const slice = () => {
		let spentMs = 0;
		const took = thread.batches[0]!.headers.map((account) => {
			const eventMs = cost[account as keyof typeof cost];
			if (spentMs >= 8) return undefined;
			spentMs += eventMs;
			ms[account as keyof typeof cost] += eventMs;
			return eventMs;
		});
		thread.answer(took.filter((each) => each !== undefined));
	};
	for (let n = 0; n < 500; n++) {
		add("mallory");
		add("bank");
	}
	turn();
	while (answers.filter(([account]) => account === "bank").length < 500)
		slice();
	// Two batches were packed before it was known what an event takes, and an event that has begun is finished.
	expect(ms.mallory).toBeLessThanOrEqual(ms.bank + 3 * cost.mallory);
	// Alone it waits for nobody.
	while (thread.batches.length > 0) slice();
	expect(answers).toHaveLength(1_000);
});

test("while nothing is validated, a sender gets its answer within a second, and a late verdict changes nothing", () => {
	add("shop");
	turn();
	nowMs = 100;
	add("bank");
	nowMs = 800;
	queue.tick();
	expect(answers).toEqual([["shop", "TrackingPlanUnavailable"]]);
	nowMs = 900;
	queue.tick();
	expect(answers).toEqual([
		["shop", "TrackingPlanUnavailable"],
		["bank", "TrackingPlanUnavailable"],
	]);
	thread.answer();
	expect(answers).toHaveLength(2);
	add("shop");
	turn();
	thread.answer();
	expect(answers.at(-1)).toEqual(["shop", "1"]);
});

test("while the thread works on, a sender waits for up to ten seconds", () => {
	for (let n = 0; n < 3; n++) add("shop");
	turn();
	for (nowMs = 500; nowMs < 10_000; nowMs += 500) {
		thread.answer([]);
		queue.tick();
	}
	expect(answers).toEqual([]);
	nowMs = 10_000;
	thread.answer([1]);
	queue.tick();
	expect(answers.map(([, code]) => code)).toEqual([
		"1",
		"Overloaded",
		"Overloaded",
	]);
});

test("when the thread dies, the events that it had are refused, and the others wait for the next one", () => {
	add("shop", "1");
	turn();
	add("shop", "2");
	thread.die();
	expect(answers).toEqual([["shop", "TrackingPlanUnavailable"]]);
	turn();
	expect(thread.batches).toEqual([]);
	thread.isUp = true;
	queue.sendSoon();
	turn();
	thread.answer();
	expect(answers.at(-1)).toEqual(["shop", "1"]);
});

test("events of a plan that is out of service are refused at once", () => {
	thread.penalized.add(7);
	add("mallory", "1", 7);
	add("bank", "2", 8);
	expect(answers).toEqual([["mallory", refusals.TrackingPlanUnavailable.code]]);
	turn();
	thread.answer();
	expect(answers.at(-1)).toEqual(["bank", "8"]);
});

test("a plan is kept until the events that came before its end have their verdicts", () => {
	add("shop", "1", 1);
	add("shop", "2", 2);
	queue.forget(1);
	queue.tick();
	turn();
	queue.tick();
	// The thread leaves the first event for its next batch.
	thread.answer([]);
	queue.tick();
	expect(thread.forgotten).toEqual([]);
	thread.answer();
	expect(answers).toEqual([
		["shop", "1"],
		["shop", "2"],
	]);
	queue.tick();
	queue.tick();
	expect(thread.forgotten).toEqual([1]);
});
