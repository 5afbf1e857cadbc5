import type { Logger } from "../../service/log.ts";
import { hasReason } from "./api-error.ts";
import type { Informer } from "./informer.ts";
import { type KubeObject, keyOf, type ObjectKey } from "./resource.ts";
import { WorkQueue } from "./work-queue.ts";

/** Brings the world in line with one object, from what is there now, whatever happened before. */
export interface Controller {
	/** For logs: what it takes care of. */
	name: string;
	/**
	 * Is never called twice at once for one key. When it throws, it is called again with growing delay; when it throws
	 * {@link TerminalError}, only after the next change.
	 */
	reconcile(key: ObjectKey, signal: AbortSignal): Promise<Result | undefined>;
}

export interface Result {
	/** Look again after this time, also without a change. */
	requeueAfterMs?: number;
}

/** An error that trying again can't help. */
export class TerminalError extends Error {
	override name = "TerminalError";
}

/** Somebody changed what they want; a new status alone is none of it. */
export function specChanged(object: KubeObject, previous: KubeObject): boolean {
	return object.metadata.generation !== previous.metadata.generation;
}

/**
 * Calls a controller for every key that changed, with several workers, after its informers have listed everything.
 *
 *     const loop = new ControllerLoop(controller, { log });
 *     loop.watch(pods, (pod) => [keyOf(pod)]);
 *     await loop.run(signal);
 */
export class ControllerLoop {
	readonly #controller: Controller;
	readonly #log: Logger;
	readonly #workers: number;
	readonly #queue = new WorkQueue();
	readonly #synced: Promise<void>[] = [];

	constructor(
		controller: Controller,
		options: { log: Logger; workers?: number },
	) {
		this.#controller = controller;
		this.#log = options.log.child({ controller: controller.name });
		this.#workers = options.workers ?? 2;
	}

	/**
	 * A change of these objects is a reason to look at the keys that it concerns, by default its own.
	 * @param matters tells which changes are; those that make or delete an object always are.
	 */
	watch<T extends KubeObject>(
		informer: Informer<T>,
		keysFor: (object: T) => ObjectKey[] = (object) => [keyOf(object)],
		matters: (object: T, previous: T) => boolean = () => true,
	): void {
		this.#synced.push(informer.synced);
		informer.onChange((object, previous, deleted) => {
			if (!deleted && previous && !matters(object, previous)) return;
			// What the object referred to before is concerned as well.
			for (const state of previous ? [previous, object] : [object])
				for (const key of keysFor(state)) this.enqueue(key);
		});
	}

	enqueue({ namespace, name }: ObjectKey): void {
		this.#queue.add(`${namespace}/${name}`);
	}

	/** Works until the signal; then finishes what is under way. */
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
		for (;;) {
			const text = await this.#queue.take();
			if (text === undefined) return;
			try {
				await this.#reconcile(text, signal);
			} finally {
				this.#queue.done(text);
			}
		}
	}

	async #reconcile(text: string, signal: AbortSignal): Promise<void> {
		const slash = text.indexOf("/");
		const key = {
			namespace: text.slice(0, slash),
			name: text.slice(slash + 1),
		};
		try {
			const result = await this.#controller.reconcile(key, signal);
			this.#queue.forget(text);
			if (result?.requeueAfterMs !== undefined)
				this.#queue.addAfter(text, result.requeueAfterMs);
		} catch (err) {
			if (signal.aborted) return;
			if (err instanceof TerminalError) {
				this.#queue.forget(text);
				this.#log.error({ ...key, err }, "can't be reconciled as it is");
				return;
			}
			const retryInMs = Math.round(this.#queue.addAfterFailure(text));
			// What was read was old already: no trouble, but the order of the day.
			const level = hasReason(err, "Conflict") ? "debug" : "warn";
			this.#log[level]({ ...key, err, retryInMs }, "reconciling failed");
		}
	}
}
