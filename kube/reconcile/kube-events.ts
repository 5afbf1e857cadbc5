import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Logger } from "../../service/log.ts";
import { pause } from "../../service/pause.ts";
import type { KubeClient } from "../client/client.ts";
import { type KubeEvent, kinds } from "../kinds.ts";
import {
	apiVersionOf,
	type KubeObject,
	type ResourceKind,
} from "../resource.ts";
import { microTime } from "../timestamps.ts";
import { cutToBytes } from "./cut-text.ts";
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
 * (a series). Recording never fails its caller: a failed write is logged. Events are written two at a time, and namespaces
 * take turns: thousands of them must not hold up the requests of the caller's work.
 */
export class KubeEventRecorder {
	readonly #client: KubeClient;
	readonly #controller: string;
	readonly #log: Logger;
	/** The latest repeated last. */
	readonly #series = new Map<string, Series>();
	/** `<namespace>/<key of a series>`, of those to write. */
	readonly #queue = new WorkQueue("kube-events");
	readonly #workers: Promise<void>[];
	#whenIdle: () => void = () => undefined;

	/** @param controller who reports, such as `example.com/operator`. */
	constructor(client: KubeClient, controller: string, log: Logger) {
		this.#client = client;
		this.#controller = controller;
		this.#log = log;
		this.#workers = Array.from({ length: 2 }, () => this.#work());
	}

	record<T extends KubeObject>(
		kind: ResourceKind<T>,
		{ metadata }: T,
		{ type, reason, action, note }: KubeEventNote,
	): void {
		const nowMs = Date.now();
		this.#forgetEnded(nowMs);
		const namespace = metadata.namespace ?? "default";
		const about = [metadata.uid, type, reason, action, note];
		const key = `${namespace}/${JSON.stringify(about)}`;
		const series = this.#series.get(key);
		if (series) {
			series.count++;
			series.lastMs = nowMs;
			this.#series.delete(key);
			this.#series.set(key, series);
			// The first repeat is written at once; later ones update the count every ten seconds at most.
			if (series.count > 2 && nowMs - series.writtenMs < 10_000) return;
			series.writtenMs = nowMs;
			this.#queue.add(key);
			return;
		}
		this.#series.set(key, {
			count: 1,
			lastMs: nowMs,
			writtenMs: nowMs,
			isCreated: false,
			event: {
				metadata: {
					namespace,
					name: `${metadata.name}.${randomBytes(8).toString("hex")}`,
				},
				eventTime: microTime(nowMs),
				reportingController: this.#controller,
				reportingInstance: hostname(),
				type,
				reason,
				action,
				note: cutToBytes(note, 1024),
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

	/** Writes what waits, for at most this time, and drops the rest and whatever comes later. */
	async finish(patienceMs: number): Promise<void> {
		const idle = new AbortController();
		this.#whenIdle = () => idle.abort();
		if (!this.#isIdle()) await pause(patienceMs, idle.signal);
		const { length: dropped } = this.#queue;
		if (dropped > 0)
			this.#log.warn({ dropped }, "Kubernetes events are dropped at the stop");
		this.#queue.stop();
		await Promise.all(this.#workers);
	}

	#isIdle(): boolean {
		return this.#queue.length === 0 && this.#queue.workingMs.length === 0;
	}

	async #work(): Promise<void> {
		for (;;) {
			const key = await this.#queue.take();
			if (key === undefined) return;
			const series = this.#series.get(key);
			try {
				if (series) await this.#write(series);
			} catch (err) {
				if (!series!.isCreated) this.#series.delete(key);
				const { reason } = series!.event;
				this.#log.warn({ err, reason }, "a Kubernetes event was not recorded");
			} finally {
				this.#queue.done(key);
				if (this.#isIdle()) this.#whenIdle();
			}
		}
	}

	/** As it is by now. */
	async #write(series: Series): Promise<void> {
		const { event, count, lastMs } = series;
		const repeats = count > 1 && {
			series: { count, lastObservedTime: microTime(lastMs) },
		};
		if (!series.isCreated) {
			await this.#client.create(kinds.kubeEvent, { ...event, ...repeats });
			series.isCreated = true;
		} else if (repeats) {
			const { name, namespace } = event.metadata;
			await this.#client.patch(
				kinds.kubeEvent,
				name,
				namespace,
				repeats,
				"merge",
			);
		}
	}

	#forgetEnded(nowMs: number): void {
		for (const [key, series] of this.#series) {
			if (nowMs - series.lastMs <= seriesGapMs) return;
			this.#series.delete(key);
		}
	}
}

interface Series {
	event: KubeEvent;
	count: number;
	lastMs: number;
	/** When it was last put in the queue. */
	writtenMs: number;
	isCreated: boolean;
}

/** KEP-383: a series ends after six minutes without a repeat. */
const seriesGapMs = 6 * 60_000;
