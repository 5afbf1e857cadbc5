import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { linesForTerminal } from "../../escapes/terminal.ts";
import { TokenBucket } from "../../fair/token-bucket.ts";
import type { Logger } from "../../service/log.ts";
import { pause } from "../../service/pause.ts";
import type { KubeClient } from "../client/client.ts";
import { type KubeEvent, kinds } from "../kinds.ts";
import {
	apiVersionOf,
	type KubeObject,
	microTime,
	type ResourceKind,
} from "../resource.ts";
import { cutToBytes } from "../text.ts";
import { WorkQueue } from "./work-queue.ts";

/** What a person reads in `kubectl describe`. */
export interface KubeEventNote {
	type: "Normal" | "Warning";
	/** Why, in one word for machines, such as `RunFailed`. */
	reason: string;
	/** What was done or tried, in one word for machines, such as `StartJob`. */
	action: string;
	/** For people. Cut after 1,024 bytes. */
	note: string;
}

/**
 * Records Kubernetes' Events (events.k8s.io/v1) about objects. A repeat within six minutes raises the count of the first one
 * (a series). Recording never fails its caller: a failed write is logged. Events are written two at a time and at a steady
 * rate, and namespaces take turns: thousands of them must not hold up the requests of the caller's work. When too many wait,
 * new ones are dropped and counted, of a namespace that has more than its share.
 */
export class KubeEventRecorder {
	readonly #client: KubeClient;
	readonly #controller: string;
	readonly #log: Logger;
	/** The latest repeated last. */
	readonly #series = new Map<string, Series>();
	/** `<namespace>/<key of a series>`, of those to write. */
	readonly #queue = new WorkQueue("kube-events");
	readonly #rate = new TokenBucket(writes);
	readonly #busyRate = new TokenBucket(busyWrites);
	readonly #isBusy: () => boolean;
	#busySinceMs: number | undefined;
	readonly #stop = new AbortController();
	#dropped = 0;
	/** Runs while none is logged, for a minute after the last time. */
	#droppedTimer: NodeJS.Timeout | undefined;
	#whenIdle: () => void = () => undefined;

	/**
	 * @param controller who reports, such as `example.com/operator`.
	 * @param isBusy whether work waits that Events should not hold up.
	 */
	constructor(
		client: KubeClient,
		controller: string,
		log: Logger,
		isBusy: () => boolean = () => false,
	) {
		this.#client = client;
		this.#isBusy = isBusy;
		this.#controller = controller;
		this.#log = log;
		for (let worker = 0; worker < 2; worker++) void this.#work();
	}

	record<T extends KubeObject>(
		kind: ResourceKind<T>,
		{ metadata }: T,
		{ type, reason, action, note }: KubeEventNote,
	): void {
		// Ages go by a clock that nobody sets.
		const nowMs = performance.now();
		const observedAt = microTime(Date.now());
		this.#forgetEnded(nowMs);
		const namespace = metadata.namespace ?? "default";
		const about = [metadata.uid, type, reason, action, note];
		const key = `${namespace}/${JSON.stringify(about)}`;
		const series = this.#series.get(key);
		if (series) {
			series.count++;
			series.observedAt = observedAt;
			this.#keep(key, series, nowMs);
			// The first repeat is written at once; later ones update the count every ten seconds at most.
			if (series.count > 2 && nowMs - series.writtenMs < 10_000) return;
			series.writtenMs = nowMs;
			series.waits = true;
			this.#queue.add(key);
			return;
		}
		if (!this.#queue.hasRoom(namespace, mostWaiting)) {
			this.#dropped++;
			if (!this.#droppedTimer) this.#logDropped();
			return;
		}
		this.#series.set(key, {
			count: 1,
			observedAt,
			keptMs: nowMs,
			writtenMs: nowMs,
			waits: true,
			isCreated: false,
			event: {
				metadata: {
					namespace,
					name: `${metadata.name}.${randomBytes(8).toString("hex")}`,
				},
				eventTime: observedAt,
				reportingController: this.#controller,
				reportingInstance: hostname(),
				type,
				reason,
				action,
				note: cutToBytes(linesForTerminal(note), 1024),
				regarding: {
					apiVersion: apiVersionOf(kind),
					kind: kind.kind,
					...(metadata.namespace && { namespace }),
					name: metadata.name,
					...(metadata.uid && { uid: metadata.uid }),
				},
			},
		});
		this.#queue.add(key);
	}

	/** Writes what waits, for at most this time, drops the rest and whatever comes later, and aborts open requests. */
	async finish(timeoutMs: number): Promise<void> {
		const idle = new AbortController();
		this.#whenIdle = () => idle.abort();
		if (!this.#isIdle()) await pause(timeoutMs, idle.signal);
		clearTimeout(this.#droppedTimer);
		const dropped = this.#dropped + this.#queue.length;
		const { length: unanswered } = this.#queue.workingMs;
		if (dropped + unanswered > 0)
			this.#log.warn(
				{ dropped, unanswered },
				"Kubernetes events are dropped at the stop",
			);
		this.#queue.stop();
		this.#stop.abort();
	}

	#isIdle(): boolean {
		return this.#queue.length === 0 && this.#queue.workingMs.length === 0;
	}

	async #work(): Promise<void> {
		for (;;) {
			const key = await this.#queue.take();
			if (key === undefined) return;
			const waitMs = this.#rateNow().reserve(performance.now());
			if (waitMs > 0) await pause(waitMs, this.#stop.signal);
			const series = this.#series.get(key);
			if (series) await this.#tryToWrite(key, series);
			this.#queue.done(key);
			if (this.#isIdle()) this.#whenIdle();
		}
	}

	#rateNow(): TokenBucket {
		if (!this.#isBusy()) this.#busySinceMs = undefined;
		else this.#busySinceMs ??= performance.now();
		const busyMs = performance.now() - (this.#busySinceMs ?? -Infinity);
		return busyMs < mostBusyMs ? this.#busyRate : this.#rate;
	}

	async #tryToWrite(key: string, series: Series): Promise<void> {
		this.#keep(key, series, performance.now());
		series.waits = false;
		try {
			await this.#write(series);
		} catch (err) {
			// The stop has counted it.
			if (this.#stop.signal.aborted) return;
			// A repeat meanwhile is still to be written.
			if (!series.isCreated && !series.waits) this.#series.delete(key);
			const { reason } = series.event;
			this.#log.warn({ err, reason }, "a Kubernetes event was not recorded");
		}
	}

	/** As it is by now. */
	async #write(series: Series): Promise<void> {
		const { event, count, observedAt } = series;
		const { signal } = this.#stop;
		const repeats = count > 1 && {
			series: { count, lastObservedTime: observedAt },
		};
		if (!series.isCreated) {
			await this.#client.create(
				kinds.kubeEvent,
				{ ...event, ...repeats },
				{ signal },
			);
			series.isCreated = true;
		} else if (repeats) {
			const { name, namespace } = event.metadata;
			await this.#client.patch(
				kinds.kubeEvent,
				name,
				namespace,
				repeats,
				"merge",
				{ signal },
			);
		}
	}

	#keep(key: string, series: Series, nowMs: number): void {
		series.keptMs = nowMs;
		this.#series.delete(key);
		this.#series.set(key, series);
	}

	#forgetEnded(nowMs: number): void {
		for (const [key, series] of this.#series) {
			if (nowMs - series.keptMs <= seriesGapMs) return;
			// What still waits is looked at again after as long.
			if (series.waits) this.#keep(key, series, nowMs);
			else this.#series.delete(key);
		}
	}

	#logDropped(): void {
		this.#droppedTimer = undefined;
		if (this.#dropped === 0) return;
		this.#log.warn(
			{ dropped: this.#dropped },
			"Kubernetes events are dropped, because too many wait to be written",
		);
		this.#dropped = 0;
		const again = () => this.#logDropped();
		this.#droppedTimer = setTimeout(again, droppedLogMs).unref();
	}
}

interface Series {
	event: KubeEvent;
	count: number;
	/** When it was last recorded. */
	observedAt: string;
	/** When it was last recorded, taken to be written, or kept because it waits. By performance.now(), as the next. */
	keptMs: number;
	/** When it was last put in the queue. */
	writtenMs: number;
	/** Whether it is in the queue. */
	waits: boolean;
	isCreated: boolean;
}

/** KEP-383: a series ends after six minutes without a repeat. */
const seriesGapMs = 6 * 60_000;

/** An apiserver takes as long for an Event as for a status, and after a first start each of thousands of resources has one. */
const writes = { perSecond: 50, burst: 200 };
const busyWrites = { perSecond: 10, burst: 20 };
/** A first start is over by then. What is busy for longer, as by one account's work, holds up nobody's Events. */
const mostBusyMs = 60_000;

/** About 10 MB. */
const mostWaiting = 10_000;
const droppedLogMs = 60_000;
