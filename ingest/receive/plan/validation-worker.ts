import { parentPort, workerData } from "node:worker_threads";
import type { PlanDocument } from "../../../packages/contracts/tracking-plan.ts";
import { parseExact } from "../../../packages/json/json-reader.ts";
import { PlanValidator } from "../../../packages/tracking-plan/plan-validator.ts";
import {
	type BatchAnswer,
	type EventBatch,
	type LearnedPlan,
	type PlanVerdict,
	type ThreadOrder,
	unpacked,
} from "./thread-messages.ts";

/** How long a batch may keep the events behind it waiting. An event that has begun is finished. */
const maxBatchMs = 8;

/** Of the plans that are ready to validate. Evaluated code takes several times its text. */
const maxReadyBytes = 32 * 1024 * 1024;

/** What the validation thread does: holds the plans and validates batch after batch. */
export class ValidationLoop {
	readonly #plans = new Map<number, LearnedPlan>();
	/** Evaluated plans, the least recently used first. */
	readonly #ready = new Map<number, Ready>();
	#readyBytes = 0;
	/** Plans that others have taken the room of. */
	readonly #displaced = new Set<number>();
	#readiedAgain = 0;
	readonly #current: Int32Array;
	readonly #now: () => number;

	/** @param current its first element becomes the id of the plan that validates; -1 for none. */
	constructor(
		current: Int32Array,
		now: () => number = () => performance.now(),
	) {
		this.#current = current;
		this.#now = now;
	}

	learn(plan: LearnedPlan): void {
		this.#plans.set(plan.id, plan);
	}

	forget(id: number): void {
		this.#drop(id);
		this.#displaced.delete(id);
		this.#plans.delete(id);
	}

	validate({ plans, headers, ends, bytes }: EventBatch): BatchAnswer {
		const verdicts: PlanVerdict[] = [];
		const tookMs: number[] = [];
		this.#readiedAgain = 0;
		const startMs = this.#now();
		let at = 0;
		let nowMs = startMs;
		for (const [i, plan] of plans.entries()) {
			if (nowMs - startMs >= maxBatchMs) break;
			Atomics.store(this.#current, 0, plan);
			const body = Buffer.from(bytes, at, ends[i]! - at);
			at = ends[i]!;
			verdicts.push(this.#verdictOf(plan, body, headers[i]));
			const endMs = this.#now();
			tookMs.push(endMs - nowMs);
			nowMs = endMs;
		}
		Atomics.store(this.#current, 0, -1);
		return { verdicts, tookMs, readiedAgain: this.#readiedAgain, bytes };
	}

	#verdictOf(
		plan: number,
		body: Buffer,
		header: string | undefined,
	): PlanVerdict {
		try {
			return verdictOf(this.#validatorOf(plan), body, header);
		} catch (error) {
			return { outcome: "Failed", record: String(error), kinds: [] };
		}
	}

	#validatorOf(id: number): PlanValidator {
		let ready = this.#ready.get(id);
		if (ready) this.#ready.delete(id);
		else {
			ready = readyPlan(this.#plans.get(id)!);
			this.#readyBytes += ready.bytes;
			if (this.#displaced.delete(id)) this.#readiedAgain++;
		}
		this.#ready.set(id, ready);
		for (const least of this.#ready.keys()) {
			if (this.#readyBytes <= maxReadyBytes || least === id) break;
			this.#drop(least);
			this.#displaced.add(least);
		}
		return ready.validator;
	}

	#drop(id: number): void {
		this.#readyBytes -= this.#ready.get(id)?.bytes ?? 0;
		this.#ready.delete(id);
	}
}

// In the thread of ValidationThread.
if (workerData instanceof Int32Array) {
	const loop = new ValidationLoop(workerData);
	parentPort!.on("message", (order: ThreadOrder) => {
		if (order.type === "learn") loop.learn(order.plan);
		else if (order.type === "forget") loop.forget(order.id);
		else {
			const answer = loop.validate(order.batch);
			parentPort!.postMessage(answer, [answer.bytes]);
		}
	});
}

interface Ready {
	validator: PlanValidator;
	/** Of its code. */
	bytes: number;
}

function readyPlan({ document, code, cache }: LearnedPlan): Ready {
	const text = unpacked(code);
	const validator = new PlanValidator(
		parseExact(document) as PlanDocument,
		text.toString(),
		cache && unpacked(cache),
	);
	return { validator, bytes: text.length };
}

function verdictOf(
	validator: PlanValidator,
	body: Buffer,
	header: string | undefined,
): PlanVerdict {
	const { outcome, record } = validator.validateText(body, header);
	const { violations } = record;
	return {
		outcome,
		record: JSON.stringify(record),
		...(outcome === "Reject" && { details: JSON.stringify(violations ?? []) }),
		kinds: violations ? [...new Set(violations.map(({ kind }) => kind))] : [],
	};
}
