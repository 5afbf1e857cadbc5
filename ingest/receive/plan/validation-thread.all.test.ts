// In make test: ingest/receive/plan/validation-queue.test.ts
import pino from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { PlanDocument } from "../../../packages/contracts/tracking-plan.ts";
import { type PlanVerdict, packed } from "./thread-messages.ts";
import { ValidationQueue } from "./validation-queue.ts";
import { ValidationThread } from "./validation-thread.ts";

const wait = { timeout: 120_000, interval: 20 };
let thread: ValidationThread;
let queue: ValidationQueue;
let ticking: NodeJS.Timeout;

beforeEach(() => {
	thread = new ValidationThread({
		log: pino({ level: "silent" }),
		onUp: () => queue.sendSoon(),
	});
	queue = new ValidationQueue({
		thread,
		defer: setImmediate,
		now: () => performance.now(),
	});
	ticking = setInterval(() => {
		thread.tick();
		queue.tick();
	}, 50);
});

afterEach(async () => {
	clearInterval(ticking);
	await thread.stop();
});

/** A plan whose only event has this code as its validator. Compiled plans count their steps; this one doesn't. */
function learn(id: number, validator: string): void {
	const document: PlanDocument = {
		version: 1,
		account: `account-${id}`,
		plan: "orders",
		eventType: { constant: "order" },
		events: [{ type: "order", schema: {} }],
		onUnplannedEvent: "Reject",
		onViolation: "Reject",
		onUnplannedProperty: "Allow",
	};
	const code = packed(
		`exports["quick-event-0"] = exports["event-0"] = function validate(body) { ${validator} };`,
	);
	const { account, plan } = document;
	const json = JSON.stringify(document);
	thread.learn({ id, account, plan, document: json, code });
}

function validate(id: number, body = "{}"): Promise<string> {
	const text = Buffer.from(body);
	return new Promise((resolve) =>
		queue.add({
			account: `account-${id}`,
			plan: id,
			header: undefined,
			parts: [text],
			bytes: text.length,
			waitingSinceMs: performance.now(),
			onValidated: (outcome) =>
				resolve("status" in outcome ? outcome.code : outcomeOf(outcome)),
		}),
	);
}

const outcomeOf = ({ outcome }: PlanVerdict) => outcome;

const untilAccepted = (id: number) =>
	vi.waitFor(async () => expect(await validate(id)).toBe("Accept"), wait);

const accepting = "return true";

test("the thread validates by the plans that it has learned", async () => {
	learn(1, accepting);
	learn(2, 'throw new Error("a fault of ours")');
	await untilAccepted(1);
	expect(await validate(2)).toBe("Failed");
	thread.forget(1);
	expect(await validate(1)).toBe("Failed");
});

test("if a plan kills the thread, another one validates for the others, and that plan is out of service", async () => {
	learn(1, accepting);
	learn(
		2,
		"const all = []; for (;;) all.push(new Array(1e6).fill(all.length));",
	);
	await untilAccepted(1);
	const results = Promise.all([validate(2), validate(1)]);
	await vi.waitFor(() => expect(thread.restarts).toBe(1), wait);
	expect((await results)[0]).toBe("TrackingPlanUnavailable");
	expect(thread.isPenalized(2)).toBe(true);
	expect(await validate(2)).toBe("TrackingPlanUnavailable");
	await untilAccepted(1);
	expect(thread.restarts).toBe(1);
	expect(thread.isPenalized(1)).toBe(false);
});

test("if a plan hangs the thread, it is replaced, and senders have their answers meanwhile", async () => {
	learn(1, accepting);
	learn(2, "for (;;);");
	await untilAccepted(1);
	const results = await Promise.all([validate(2), validate(1)]);
	expect(results).toContain("TrackingPlanUnavailable");
	await vi.waitFor(() => expect(thread.restarts).toBe(1), wait);
	expect(thread.isPenalized(2)).toBe(true);
	await untilAccepted(1);
	expect(await validate(2)).toBe("TrackingPlanUnavailable");
});

test("a plan that is out of service is tried again later", async () => {
	learn(1, accepting);
	learn(2, "if (body.hang) process.exit(1); return true");
	await untilAccepted(2);
	expect(await validate(2, '{"hang":true}')).toBe("TrackingPlanUnavailable");
	expect(await validate(2)).toBe("TrackingPlanUnavailable");
	await untilAccepted(2);
});

test("the plans that validate take bounded memory: the others are ready again when they are needed", async () => {
	const filler = "x".repeat(1_000_000);
	for (let id = 1; id <= 60; id++) learn(id, `${accepting}; "${filler}${id}"`);
	for (let id = 1; id <= 60; id++) await untilAccepted(id);
	await untilAccepted(1);
	expect(thread.restarts).toBe(0);
});

test("a plan whose room others have taken is made ready again, and counted", async () => {
	// Two don't fit together.
	const large = `/*${" ".repeat(17 * 1024 * 1024)}*/ return true;`;
	for (const id of [1, 2]) learn(id, large);
	for (const id of [1, 1, 2]) await validate(id);
	expect(thread.readiedAgain).toBe(0);
	for (const id of [1, 1, 2]) await validate(id);
	expect(thread.readiedAgain).toBe(2);
});
