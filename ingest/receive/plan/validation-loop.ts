import type { PlanDocument } from "../../../packages/contracts/tracking-plan.ts";
import { PlanJudge } from "../../../packages/tracking-plan/plan-validator.ts";
import {
	type Batch,
	type BatchAnswer,
	type JudgePlan,
	unpacked,
	type Verdict,
} from "./thread-messages.ts";

/** How long a batch may keep the events behind it waiting. An event that has begun is finished. */
const maxBatchMs = 8;

/** Of the plans that are ready to judge. Evaluated code takes several times its text. */
const maxReadyBytes = 32 * 1024 * 1024;

/** What the judge thread does: holds the plans and judges batch after batch. */
export class JudgeLoop {
	readonly #plans = new Map<number, JudgePlan>();
	/** Evaluated plans, the least recently used first. */
	readonly #ready = new Map<number, Ready>();
	#readyBytes = 0;
	/** Plans that others have taken the room of. */
	readonly #displaced = new Set<number>();
	#readiedAgain = 0;
	readonly #current: Int32Array;
	readonly #now: () => number;

	/** @param current its first element becomes the id of the plan that judges; -1 for none. */
	constructor(
		current: Int32Array,
		now: () => number = () => performance.now(),
	) {
		this.#current = current;
		this.#now = now;
	}

	learn(plan: JudgePlan): void {
		this.#plans.set(plan.id, plan);
	}

	forget(id: number): void {
		this.#drop(id);
		this.#displaced.delete(id);
		this.#plans.delete(id);
	}

	judge({ plans, headers, ends, bytes }: Batch): BatchAnswer {
		const verdicts: Verdict[] = [];
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

	#verdictOf(plan: number, body: Buffer, header: string | undefined): Verdict {
		try {
			return verdictOf(this.#judgeOf(plan), body, header);
		} catch (error) {
			return { outcome: "Failed", judgement: String(error), kinds: [] };
		}
	}

	#judgeOf(id: number): PlanJudge {
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
		return ready.judge;
	}

	#drop(id: number): void {
		this.#readyBytes -= this.#ready.get(id)?.bytes ?? 0;
		this.#ready.delete(id);
	}
}

interface Ready {
	judge: PlanJudge;
	/** Of its code. */
	bytes: number;
}

function readyPlan({ document, code, cache }: JudgePlan): Ready {
	const text = unpacked(code);
	const judge = new PlanJudge(
		JSON.parse(document) as PlanDocument,
		text.toString(),
		cache && unpacked(cache),
	);
	return { judge, bytes: text.length };
}

function verdictOf(
	judge: PlanJudge,
	body: Buffer,
	header: string | undefined,
): Verdict {
	const { outcome, judgement } = judge.judgeText(body, header);
	const { violations } = judgement;
	return {
		outcome,
		judgement: JSON.stringify(judgement),
		...(outcome === "Reject" && { details: JSON.stringify(violations ?? []) }),
		kinds: violations ? [...new Set(violations.map(({ kind }) => kind))] : [],
	};
}
