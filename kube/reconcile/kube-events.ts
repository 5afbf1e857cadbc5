import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Logger } from "../../service/log.ts";
import type { KubeClient } from "../client/client.ts";
import { type KubeEvent, kinds } from "../kinds.ts";
import {
	apiVersionOf,
	type KubeObject,
	type ResourceKind,
} from "../resource.ts";
import { microTime } from "../timestamps.ts";
import { cutToBytes } from "./cut-text.ts";

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
 * (a series). Recording never fails its caller: a failed write is logged.
 */
export class KubeEventRecorder {
	readonly #client: KubeClient;
	readonly #controller: string;
	readonly #log: Logger;
	readonly #series = new Map<string, Series>();

	/** @param controller who reports, such as `example.com/operator`. */
	constructor(client: KubeClient, controller: string, log: Logger) {
		this.#client = client;
		this.#controller = controller;
		this.#log = log;
	}

	record<T extends KubeObject>(
		kind: ResourceKind<T>,
		regarding: T,
		event: KubeEventNote,
	): void {
		void this.#write(kind, regarding, event).catch((err) =>
			this.#log.warn(
				{ err, reason: event.reason },
				"a Kubernetes event was not recorded",
			),
		);
	}

	async #write<T extends KubeObject>(
		kind: ResourceKind<T>,
		{ metadata }: T,
		{ type, reason, action, note }: KubeEventNote,
	): Promise<void> {
		const nowMs = Date.now();
		this.#forgetEnded(nowMs);
		const key = JSON.stringify([metadata.uid, type, reason, action, note]);
		const series = this.#series.get(key);
		if (series) return this.#count(series, nowMs);

		const started: Series = {
			namespace: metadata.namespace ?? "default",
			name: `${metadata.name}.${randomBytes(8).toString("hex")}`,
			count: 1,
			lastMs: nowMs,
			writtenMs: nowMs,
		};
		this.#series.set(key, started);
		const event: KubeEvent = {
			metadata: { namespace: started.namespace, name: started.name },
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
				...(metadata.namespace && { namespace: metadata.namespace }),
				name: metadata.name,
				...(metadata.uid && { uid: metadata.uid }),
			},
		};
		started.created = this.#client.create(kinds.kubeEvent, event);
		await started.created.catch((error) => {
			this.#series.delete(key);
			throw error;
		});
	}

	async #count(series: Series, nowMs: number): Promise<void> {
		series.count++;
		series.lastMs = nowMs;
		// The first repeat is written at once; later ones update the count every ten seconds at most.
		if (series.count > 2 && nowMs - series.writtenMs < 10_000) return;
		series.writtenMs = nowMs;
		await series.created;
		await this.#client.patch(
			kinds.kubeEvent,
			series.name,
			series.namespace,
			{ series: { count: series.count, lastObservedTime: microTime(nowMs) } },
			"merge",
		);
	}

	#forgetEnded(nowMs: number): void {
		for (const [key, series] of this.#series)
			if (nowMs - series.lastMs > seriesGapMs) this.#series.delete(key);
	}
}

interface Series {
	namespace: string;
	name: string;
	count: number;
	lastMs: number;
	writtenMs: number;
	created?: Promise<KubeEvent>;
}

/** KEP-383: a series ends after six minutes without a repeat. */
const seriesGapMs = 6 * 60_000;
