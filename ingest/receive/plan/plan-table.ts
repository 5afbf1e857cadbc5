import {
	maxAccountPlanBytes,
	maxPlanBytes,
	type RoutePlan,
} from "../../../packages/contracts/tracking-plan.ts";
import { OwnerTurns } from "../../../packages/fair/fair-limit.ts";
import type { Logger } from "../../../packages/service/log.ts";
import { type BudgetShare, MemoryBudget } from "../admission/budget.ts";
import type {
	CompileAnswer,
	CompiledCode,
	LearnedPlan,
} from "./thread-messages.ts";

interface PlanTableOptions {
	/** Rejects for a document that takes more time or memory than a plan may. */
	compile(document: string): Promise<CompileAnswer>;
	/** Gets each plan that is compiled, and the id of each that is needed no more. */
	validators: { learn(plan: LearnedPlan): void; forget(id: number): void };
	/** Runs a function later. */
	after(delayMs: number, run: () => void): void;
	log: Logger;
}

/** A compiled version of a plan. */
export interface CompiledPlan {
	id: number;
	/** The header whose value is the event's type, in lower case; undefined if the type is elsewhere. */
	typeHeader: string | undefined;
}

interface Version {
	document: string;
	/** Undefined until it is compiled. */
	compiled?: CompiledPlan & { share: BudgetShare; bytes: number };
	failures: number;
	/** The bucket has it no more. */
	isRemoved?: true;
}

/** One plan: its versions, in the order in which they came. */
type Plan = Map<string, Version>;

interface Waiting {
	account: string;
	plan: string;
	version: string;
}

const maxPlans = 10_000;
/**
 * Of documents and packed code. One account may have a third of it, and others always find room: enough for what operator
 * lets an account have, which it counts unpacked, and for a version that replaces another one.
 */
const maxBytes = 3 * (maxAccountPlanBytes + maxPlanBytes);
const firstRetryMs = 60_000;
const maxRetryMs = 60 * 60_000;

/**
 * The plans that validate events. A version validates once it is compiled; until then the one before it does. One version is
 * compiled at a time, and accounts take turns, so no account's plans keep another's waiting for long.
 */
export class PlanTable {
	readonly #options: PlanTableOptions;
	readonly #budget = new MemoryBudget(maxPlans, maxBytes);
	/** By account and name. */
	readonly #plans = new Map<string, Plan>();
	readonly #waiting = new OwnerTurns<Waiting>();
	#isCompiling = false;
	#lastId = 0;

	constructor(options: PlanTableOptions) {
		this.#options = options;
	}

	/** The version that validates: the route's, or the newest one that is compiled. */
	find(
		account: string,
		{ name, version }: RoutePlan,
	): CompiledPlan | undefined {
		if (version === undefined) return undefined;
		const plan = this.#plans.get(`${account}.${name}`);
		return plan?.get(version)?.compiled ?? (plan && newestOf(plan)?.compiled);
	}

	/** No version waits for its first compilation. */
	get isSettled(): boolean {
		return !this.#isCompiling && this.#waiting.size === 0;
	}

	/** How many versions are compiled, and how many have failed. */
	get counts(): { compiled: number; failed: number } {
		const counts = { compiled: 0, failed: 0 };
		for (const plan of this.#plans.values())
			for (const { compiled, failures } of plan.values())
				if (compiled) counts.compiled++;
				else if (failures > 0) counts.failed++;
		return counts;
	}

	/** Takes all plan documents, by their keys. */
	replace(documents: ReadonlyMap<string, string>): void {
		for (const [key, document] of documents) this.set(key, document);
		for (const [name, plan] of this.#plans)
			for (const version of plan.keys())
				if (!documents.has(`plan.${name}.${version}`))
					this.set(`plan.${name}.${version}`, undefined);
	}

	/** @param key {@link file://../../../packages/contracts/tracking-plan.ts planKey}. @param document undefined if it is removed. */
	set(key: string, document: string | undefined): void {
		const [, account, plan, version] = key.split(".");
		if (!account || !plan || !version) return;
		const name = `${account}.${plan}`;
		const versions = this.#plans.get(name) ?? new Map<string, Version>();
		const known = versions.get(version);
		if (document === undefined) {
			if (!known) return;
			known.isRemoved = true;
			this.#trim(name, versions);
			return;
		}
		if (known) {
			// A version never changes.
			delete known.isRemoved;
			return;
		}
		this.#plans.set(name, versions);
		versions.set(version, { document, failures: 0 });
		this.#enqueue({ account, plan, version });
	}

	#enqueue(waiting: Waiting): void {
		this.#waiting.add(waiting.account, waiting);
		void this.#compileNext();
	}

	async #compileNext(): Promise<void> {
		if (this.#isCompiling) return;
		this.#isCompiling = true;
		for (let next = this.#waiting.take(); next; next = this.#waiting.take())
			await this.#compile(next.item);
		this.#isCompiling = false;
	}

	async #compile(waiting: Waiting): Promise<void> {
		const { log } = this.#options;
		const { account, plan, version: name } = waiting;
		const versions = this.#plans.get(`${account}.${plan}`);
		const version = versions?.get(name);
		// It may have been removed meanwhile.
		if (!version) return;
		try {
			const answer = await this.#options.compile(version.document);
			if ("fault" in answer) throw new Error(answer.fault);
			// It may have been removed meanwhile.
			if (versions!.get(name) !== version) return;
			this.#learn({ account, plan, version, ...answer });
			this.#trim(`${account}.${plan}`, versions!);
		} catch (error) {
			log.error(
				{ err: error, account, plan, version: name },
				"failed to compile a tracking plan; an earlier version goes on validating, or its Sources get no events",
			);
			const delayMs = firstRetryMs * 2 ** version.failures++;
			this.#options.after(Math.min(delayMs, maxRetryMs), () =>
				this.#enqueue(waiting),
			);
		}
	}

	#learn({
		account,
		plan,
		version,
		code,
		cache,
		typeHeader,
	}: CompiledCode & {
		account: string;
		plan: string;
		version: Version;
	}): void {
		const { document } = version;
		const share = this.#budget.enter(account, "plans");
		const bytes = document.length + code.length + cache.length;
		if (!share?.take(bytes)) {
			share?.leave();
			throw new Error(
				`The tracking plans of the account would take more memory than this receiver has for them: its ${bytes} bytes are too many. Make the account's plans smaller or fewer.`,
			);
		}
		const id = ++this.#lastId;
		version.compiled = { id, typeHeader, share, bytes };
		this.#options.validators.learn({
			id,
			account,
			plan,
			document,
			code,
			cache,
		});
	}

	/** Forgets the removed versions, except the one that validates until another one is compiled. */
	#trim(name: string, versions: Plan): void {
		const present = [...versions.values()].filter((each) => !each.isRemoved);
		const waits =
			present.length > 0 && !present.some(({ compiled }) => compiled);
		const last = waits ? newestOf(versions) : undefined;
		for (const [key, version] of versions) {
			if (!version.isRemoved || version === last) continue;
			versions.delete(key);
			const { compiled } = version;
			if (!compiled) continue;
			compiled.share.give(compiled.bytes);
			compiled.share.leave();
			this.#options.validators.forget(compiled.id);
		}
		if (versions.size === 0) this.#plans.delete(name);
	}
}

/** The compiled version that came last. */
function newestOf(plan: Plan): Version | undefined {
	return [...plan.values()].findLast(({ compiled }) => compiled);
}
