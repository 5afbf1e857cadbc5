import type { IncomingHttpHeaders } from "node:http";
import { extname } from "node:path";
import type { Route } from "../../../packages/contracts/route.ts";
import { LimitedThread } from "../../../packages/service/limited-thread.ts";
import type { Logger } from "../../../packages/service/log.ts";
import type { EventHead } from "../../wire/frame.ts";
import type { LivingArchives } from "../commit/living-archives.ts";
import {
	type RequestRefusal,
	refusals,
	violationOf,
} from "../request/refusal.ts";
import { type CompiledPlan, PlanTable } from "./plan-table.ts";
import type { CompileAnswer, PlanVerdict } from "./thread-messages.ts";
import { ValidationQueue } from "./validation-queue.ts";
import { ValidationThread } from "./validation-thread.ts";

/** An event whose Source has a plan. */
interface PlannedEvent {
	route: Route;
	headers: IncomingHttpHeaders;
	/** JSON text. */
	parts: readonly Uint8Array[];
	bytes: number;
	waitingSinceMs: number;
}

/** What the plan says about an event that is stored. */
export type PlanOutcome = Partial<Pick<EventHead, "quarantined">> &
	Pick<EventHead, "violations">;

interface TrackingPlansOptions {
	archives: Pick<LivingArchives, "read">;
	log: Logger;
}

/** A little more than operator allows, so that a plan that passed there is compiled here. */
const compileLimits = { cpuMs: 20_000, maxMegabytes: 288 };
/** Plans that a new receiver compiles keep it from being ready for so long at most. */
const maxStartMs = 30_000;
const maxFailed = 1_000;

/**
 * The tracking plans that the routes name. Plans are compiled in one thread and validate events in another: the event loop
 * neither runs what strangers wrote nor parses what they send.
 */
export class TrackingPlans {
	readonly table: PlanTable;
	readonly #options: TrackingPlansOptions;
	readonly #thread: ValidationThread;
	readonly #queue: ValidationQueue;
	#startedAtMs: number | undefined;
	#isStarted = false;
	/** Ids of plans whose failure is in the log. */
	readonly #failed = new Set<number>();
	/** Verdicts by outcome, and how many of them had violations of a kind. */
	readonly outcomes = new Map<string, number>();
	readonly kinds = new Map<string, number>();

	constructor(options: TrackingPlansOptions) {
		const { log } = options;
		this.#options = options;
		this.#thread = new ValidationThread({
			log,
			onUp: () => this.#queue.sendSoon(),
		});
		this.#queue = new ValidationQueue({
			thread: this.#thread,
			defer: setImmediate,
			now: () => performance.now(),
		});
		// The image has JavaScript in place of TypeScript.
		const file = `compile-worker${extname(import.meta.url)}`;
		const compiler = new LimitedThread<string, CompileAnswer>(
			new URL(file, import.meta.url),
			compileLimits,
		);
		this.table = new PlanTable({
			compile: (document) => compiler.ask(document),
			validators: {
				learn: (plan) => this.#thread.learn(plan),
				forget: (id) => this.#queue.forget(id),
			},
			after: (delayMs, run) => setTimeout(run, delayMs).unref(),
			log,
		});
	}

	/** How often the validation thread has died. */
	get restarts(): number {
		return this.#thread.restarts;
	}

	/** How often a plan that had validated had to be made ready again. */
	get readiedAgain(): number {
		return this.#thread.readiedAgain;
	}

	/**
	 * Whether the plans that the bucket held at the start have been compiled, or 30 s have passed since. Ask only once the
	 * routes are read.
	 */
	get isStarted(): boolean {
		this.#startedAtMs ??= performance.now();
		this.#isStarted ||=
			this.table.isSettled ||
			performance.now() - this.#startedAtMs > maxStartMs;
		return this.#isStarted;
	}

	/** @param onValidated called once. */
	validate(
		event: PlannedEvent,
		onValidated: (outcome: PlanOutcome | RequestRefusal) => void,
	): void {
		const { route, headers, ...body } = event;
		const { account } = route;
		const plan = this.table.find(account, route.plan!);
		if (!plan) {
			onValidated(refusals.TrackingPlanUnavailable);
			return;
		}
		const header = plan.typeHeader && headers[plan.typeHeader];
		this.#queue.add({
			...body,
			account,
			plan: plan.id,
			header: typeof header === "string" ? header : undefined,
			onValidated: (verdict) =>
				onValidated(
					"status" in verdict ? verdict : this.#outcomeOf(verdict, route, plan),
				),
		});
	}

	/** Call it a few times a second. */
	tick(): void {
		this.#thread.tick();
		this.#queue.tick();
	}

	stop(): Promise<void> {
		return this.#thread.stop();
	}

	#outcomeOf(
		{ outcome, record, details, kinds }: PlanVerdict,
		{ account, plan, shard }: Route,
		{ id }: CompiledPlan,
	): PlanOutcome | RequestRefusal {
		count(this.outcomes, outcome);
		for (const kind of kinds) count(this.kinds, kind);
		if (outcome === "Failed") {
			this.#logFailure(id, { account, plan: plan!.name, reason: record });
			return refusals.TrackingPlanUnavailable;
		}
		if (outcome === "Reject") return violationOf(details!);
		const isQuarantined = outcome === "Quarantine";
		// An archive of an earlier release would stop at the frame.
		if (isQuarantined && !this.#options.archives.read(shard, 3))
			return refusals.QuarantineUnavailable;
		return {
			violations: record,
			...(isQuarantined && { quarantined: true as const }),
		};
	}

	/** Once for each plan: its Source may get thousands of events a second. */
	#logFailure(plan: number, what: object): void {
		if (this.#failed.has(plan)) return;
		if (this.#failed.size >= maxFailed) this.#failed.clear();
		this.#failed.add(plan);
		this.#options.log.error(
			what,
			"a tracking plan failed to validate an event",
		);
	}
}

function count(counts: Map<string, number>, name: string): void {
	counts.set(name, (counts.get(name) ?? 0) + 1);
}
