import { setImmediate as nextTurn } from "node:timers/promises";
import type { Logger } from "../../service/log.ts";
import { hasReason, type KubeApiError } from "../client/errors.ts";
import { measureFailures, metrics } from "../metrics.ts";
import { type KubeObject, keyOf, type ObjectKey, textOf } from "../resource.ts";
import type { Informer } from "../watch/informer.ts";
import { isRefusal, type Refusal, RefusalBackoffs } from "./refusals.ts";
import { WorkQueue } from "./work-queue.ts";

/** Brings the world in line with one object, by what is there now. */
export interface Controller {
	/** What it manages, for logs and metrics. */
	name: string;
	/**
	 * Never runs twice at once for one key. When it throws, it is retried with backoff. `NotFound`, `Conflict` and
	 * `AlreadyExists` are ordinary: the object was deleted or changed meanwhile.
	 */
	reconcile(
		key: ObjectKey,
		circumstances: ReconcileContext,
	): Promise<ReconcileResult | undefined>;
	/** Says to the object's readers what Kubernetes refuses. Until the request is due again, this stands in for `reconcile`. */
	reportRefusal?(key: ObjectKey, refusal: Refusal, now: number): Promise<void>;
}

/** What a reconcile knows beside its key. */
export interface ReconcileContext {
	/** In milliseconds since 1970: all that one reconcile decides, it decides at one time. */
	now: number;
	/** Fires when the loop is to stop. */
	signal: AbortSignal;
	/**
	 * What Kubernetes refuses to do for the key. Without {@link Controller.reportRefusal} the key is reconciled before
	 * `retryInMs` is over, and must not make the request again until then.
	 */
	refusal: Refusal | undefined;
}

/** When to reconcile a key again. Without a result, only after the next change. */
export interface ReconcileResult {
	/** At the latest after this time. */
	requeueAfterMs: number;
	/** The next reconcile does the rest: what was refused isn't done yet, although nothing failed. */
	isUnfinished?: true;
}

/** The result by which the key is reconciled as soon as any of them says, or after so many milliseconds. */
export function soonest(
	...results: (ReconcileResult | number | undefined)[]
): ReconcileResult | undefined {
	const waitsMs = results.flatMap((result) =>
		typeof result === "number" ? [result] : (result?.requeueAfterMs ?? []),
	);
	return waitsMs.length === 0
		? undefined
		: { requeueAfterMs: Math.min(...waitsMs) };
}

/** How objects wake keys by groups, which are named by texts. */
export interface GroupWatch<T extends KubeObject> {
	groupsOf(object: T): string[];
	membersOf(group: string): ObjectKey[];
	/** Filters changes. `previous` is absent for a new object. */
	matters?(object: T, previous: T | undefined, deleted: boolean): boolean;
}

/** The spec changed, not only the status. */
export function specChanged(object: KubeObject, previous: KubeObject): boolean {
	return object.metadata.generation !== previous.metadata.generation;
}

/** The object is new or gone, or its spec changed: for {@link GroupWatch}. */
export function specMatters(
	object: KubeObject,
	previous: KubeObject | undefined,
	deleted: boolean,
): boolean {
	return deleted || !previous || specChanged(object, previous);
}

/**
 * Reconciles every changed key with several workers, once its informers have listed everything.
 *
 *     const loop = new ControllerLoop(controller, { log });
 *     loop.watch(pods, (pod) => [keyOf(pod)]);
 *     await loop.run(signal);
 */
export class ControllerLoop {
	readonly #controller: Controller;
	readonly #log: Logger;
	readonly #workers: number;
	readonly #queue: WorkQueue;
	readonly #synced: Promise<void>[] = [];
	/** Keys whose last reconcile met a `Conflict` or `AlreadyExists`, because memory was older than the apiserver. */
	readonly #outdated = new Set<string>();
	readonly #refusals = new RefusalBackoffs();
	/** Since when each key has failed or been refused something, by performance.now(), those that began first in front. */
	readonly #failingSinceMs = new Map<string, number>();

	constructor(
		controller: Controller,
		options: {
			log: Logger;
			workers?: number;
			/** What stands around the controller, such as a condition under which it works. */
			around?: (controller: Controller) => Controller;
		},
	) {
		this.#controller = options.around?.(controller) ?? controller;
		this.#log = options.log.child({ controller: controller.name });
		this.#workers = options.workers ?? 2;
		this.#queue = new WorkQueue(controller.name);
		metrics.maxConcurrentReconciles.set(
			{ controller: controller.name },
			this.#workers,
		);
		measureFailures(controller.name, () => this.longestFailingMs);
	}

	/** For how long the key has failed that has done so longest, in milliseconds; 0 if none does. A key that only met a change is none. */
	get longestFailingMs(): number {
		const [sinceMs] = this.#failingSinceMs.values();
		return sinceMs === undefined ? 0 : performance.now() - sinceMs;
	}

	/** How long the longest running reconcile has taken so far, in milliseconds; 0 when none runs. */
	get longestWorkMs(): number {
		return Math.max(0, ...this.#queue.workingMs);
	}

	get name(): string {
		return this.#controller.name;
	}

	/** Whether keys wait for a worker. */
	get isBusy(): boolean {
		return this.#queue.length > 0;
	}

	/**
	 * Changes of these objects enqueue the keys that they concern, by default the object's own.
	 * @param matters filters updates. Creation and deletion always count. Every update counts for a key whose last write was a
	 * `Conflict` or `AlreadyExists`, because it may be what memory lacked; otherwise the key would wait out its backoff.
	 */
	watch<T extends KubeObject>(
		informer: Pick<Informer<T>, "synced" | "onChange">,
		keysFor?: (object: T) => ObjectKey[],
		matters: (object: T, previous: T) => boolean = () => true,
	): void {
		this.#synced.push(informer.synced);
		const keysOf = keysFor ?? ((object: T) => [keyOf(object)]);
		informer.onChange((object, previous, deleted) => {
			// A person who corrects the object, or gives up, doesn't wait until a refused request is due again.
			if (!keysFor && (deleted || (previous && specChanged(object, previous))))
				this.#refusals.makeDue(textOf(keyOf(object)));
			const isReason = deleted || !previous || matters(object, previous);
			if (!isReason && this.#outdated.size === 0) return;
			// The former state may concern other keys than the new one.
			const states = previous ? [previous, object] : [object];
			for (const text of new Set(states.flatMap(keysOf).map(textOf)))
				if (isReason || this.#outdated.has(text)) this.#queue.add(text);
		});
	}

	/**
	 * Changes of these objects enqueue every member of the groups that they belong to. Each group is looked up once for all
	 * that changes in one turn of the event loop: a list of thousands must not cause thousands of lookups of thousands.
	 */
	watchGroups<T extends KubeObject>(
		informer: Pick<Informer<T>, "synced" | "onChange">,
		{ groupsOf, membersOf, matters = () => true }: GroupWatch<T>,
	): void {
		this.#synced.push(informer.synced);
		const wake = oncePerTurn((groups) => {
			for (const group of groups)
				for (const key of membersOf(group)) this.enqueue(key);
		});
		informer.onChange((object, previous, deleted) => {
			if (!matters(object, previous, deleted)) return;
			// The former state may belong to other groups than the new one.
			const states = previous ? [previous, object] : [object];
			for (const group of states.flatMap(groupsOf)) wake(group);
		});
	}

	enqueue(key: ObjectKey): void {
		this.#queue.add(textOf(key));
	}

	/** Works until the signal fires, then finishes the reconciles under way. */
	async run(signal: AbortSignal): Promise<void> {
		const stopped = new Promise<void>((resolve) => {
			if (signal.aborted) resolve();
			signal.addEventListener("abort", () => resolve(), { once: true });
		});
		void stopped.then(() => this.#queue.stop());
		await Promise.race([Promise.all(this.#synced), stopped]);
		await Promise.all(
			Array.from({ length: this.#workers }, () => this.#work(signal)),
		);
	}

	async #work(signal: AbortSignal): Promise<void> {
		const controller = this.#controller.name;
		for (;;) {
			const text = await this.#queue.take();
			if (text === undefined) return;
			metrics.activeWorkers.inc({ controller });
			const observe = metrics.reconcileSeconds.startTimer({ controller });
			try {
				const result = await this.#reconcile(text, signal);
				metrics.reconciles.inc({ controller, result });
			} finally {
				observe();
				metrics.activeWorkers.dec({ controller });
				this.#queue.done(text);
			}
			// A reconcile without I/O never leaves the microtasks. Timers, and so the lease, would wait for the whole queue.
			await nextTurn();
		}
	}

	async #reconcile(
		text: string,
		signal: AbortSignal,
	): Promise<"success" | "requeue_after" | "error"> {
		const controller = this.#controller.name;
		const slash = text.indexOf("/");
		const key = {
			namespace: text.slice(0, slash),
			name: text.slice(slash + 1),
		};
		const refusal = this.#refusals.get(text);
		const isDue = refusal === undefined || refusal.retryInMs === 0;
		const now = Date.now();
		try {
			const result = await this.#act(key, { now, signal, refusal });
			this.#outdated.delete(text);
			this.#queue.forget(text);
			if (isDue && !(refusal && result?.isUnfinished))
				this.#failingSinceMs.delete(text);
			if (!isDue) this.#queue.addAfter(text, refusal.retryInMs);
			else if (refusal && !result?.isUnfinished) {
				this.#refusals.settle(text);
				// Its readers still read of a refusal that is over.
				this.#queue.add(text);
			}
			if (result) this.#queue.addAfter(text, result.requeueAfterMs);
			return result || !isDue ? "requeue_after" : "success";
		} catch (err) {
			const isOutdated = hasReason(
				err,
				"Conflict",
				"AlreadyExists",
				"NotFound",
			);
			this.#outdated[isOutdated ? "add" : "delete"](text);
			let retryInMs = 0;
			if (isOutdated || !isRefusal(err))
				retryInMs = Math.round(this.#queue.addAfterFailure(text));
			const staysBehind = isOutdated && retryInMs >= ordinaryRetryMs;
			if (isRefusal(err) && (!isOutdated || staysBehind))
				retryInMs = this.#refused(text, err, isDue);
			// A shutdown is ordinary, and so is a stale read, unless memory stays behind.
			const isStale = isOutdated && !staysBehind;
			const isOrdinary = isStale || signal.aborted;
			if (!isStale && !this.#failingSinceMs.has(text))
				this.#failingSinceMs.set(text, performance.now());
			if (this.#refusals.get(text))
				// Its readers read of it.
				this.#log.info(
					{ ...key, refusal: (err as Error).message, retryInMs },
					"Kubernetes refuses a request",
				);
			else
				this.#log[isOrdinary ? "debug" : "warn"](
					{ ...key, err, retryInMs },
					"reconciling failed",
				);
			if (isStale && hasReason(err, "NotFound")) return "requeue_after";
		}
		metrics.reconcileErrors.inc({ controller });
		return "error";
	}

	async #act(
		key: ObjectKey,
		circumstances: ReconcileContext,
	): Promise<ReconcileResult | undefined> {
		const { refusal, now } = circumstances;
		if (!refusal?.retryInMs || !this.#controller.reportRefusal)
			return this.#controller.reconcile(key, circumstances);
		await this.#controller.reportRefusal(key, refusal, now);
		return undefined;
	}

	/** @param isDue whether the request was due. One that fails while people read of another has no backoff of its own. */
	#refused(text: string, error: KubeApiError, isDue: boolean): number {
		const refusal = isDue
			? this.#refusals.add(text, error)
			: this.#refusals.get(text)!;
		const retryInMs = Math.ceil(refusal.retryInMs);
		this.#queue.addAfter(text, retryInMs);
		if (isDue && !refusal.mayPass) this.#queue.add(text);
		return retryInMs;
	}
}

const ordinaryRetryMs = 10_000;

/** Acts once on all that is noted in one turn of the event loop. */
function oncePerTurn(
	act: (noted: Set<string>) => void,
): (change: string) => void {
	let noted = new Set<string>();
	return (change) => {
		if (noted.size === 0)
			setImmediate(() => {
				const due = noted;
				noted = new Set();
				act(due);
			});
		noted.add(change);
	};
}
