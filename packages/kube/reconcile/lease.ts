import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../service/log.ts";
import { pause } from "../../service/pause.ts";
import { hasReason, type KubeClient } from "../client/client.ts";
import { kinds, type Lease } from "../kinds.ts";
import { metrics } from "../metrics.ts";
import { microTime } from "../resource.ts";
import { decideLease, type LeaseSighting, sight } from "./lease-decision.ts";

export interface LeaseOptions {
	namespace: string;
	name: string;
	/** The metric's label `name`, which alerts select by; by default the Lease's name. */
	metricName?: string;
	/** Unique to the process, such as host name and random bits. */
	identity: string;
	/**
	 * How long others wait after the last renewal they saw. Default 15 s. A leader that can't renew for two thirds of it stops,
	 * before another starts (the proportions of kube-controller-manager).
	 */
	durationMs?: number;
}

/**
 * Elects one leader among several processes by a Lease (coordination.k8s.io/v1).
 *
 *     const outcome = await new LeaderElection(client, options, log).run(signal, lead);
 *     if (outcome === "lost") process.exit(1);
 */
export class LeaderElection {
	readonly #client: KubeClient;
	readonly #options: Required<LeaseOptions>;
	readonly #renewDeadlineMs: number;
	readonly #retryMs: number;
	readonly #log: Logger;
	#sighting: LeaseSighting | undefined;
	#renewedMs = Number.NEGATIVE_INFINITY;
	#leads = false;

	constructor(client: KubeClient, options: LeaseOptions, log: Logger) {
		this.#client = client;
		this.#log = log;
		this.#options = {
			durationMs: 15_000,
			metricName: options.name,
			...options,
		};
		const { durationMs } = this.#options;
		this.#renewDeadlineMs = (durationMs * 2) / 3;
		this.#retryMs = (durationMs * 2) / 15;
	}

	/**
	 * True when this process still leads although its lease has run out for all others: something here hangs (as client-go's
	 * leaderelection.HealthzAdaptor).
	 */
	get isOverdue(): boolean {
		const sinceMs = performance.now() - this.#renewedMs;
		return this.#leads && sinceMs > this.#options.durationMs;
	}

	/**
	 * Throws when another process may lead by now. A process that was paused resumes its work before it looks at the lease
	 * again.
	 */
	assertHeld(): void {
		if (this.#leads && this.#isCurrent()) return;
		throw new Error(
			"another process may hold the lease by now, so nothing is written",
		);
	}

	/**
	 * Waits for the lease, calls `lead`, and renews the lease until `lead` ends. The signal of `lead` fires with the outer
	 * signal, or when the lease is lost. Unless it was lost, the lease is released after `lead` has ended. After "lost" another
	 * process may already lead, so this process must end without another write.
	 */
	async run(
		signal: AbortSignal,
		lead: (signal: AbortSignal) => Promise<void>,
	): Promise<"released" | "lost"> {
		await this.#acquire(signal);
		if (signal.aborted) {
			await this.#release();
			return "released";
		}
		const lost = new AbortController();
		const ended = new AbortController();
		const renewing = this.#keep(ended.signal, () => lost.abort());
		this.#setLeads(true);
		try {
			await lead(AbortSignal.any([signal, lost.signal]));
		} finally {
			this.#setLeads(false);
			ended.abort();
			await renewing;
			if (!lost.signal.aborted) await this.#release();
		}
		return lost.signal.aborted ? "lost" : "released";
	}

	#setLeads(leads: boolean): void {
		this.#leads = leads;
		metrics.leading.set({ name: this.#options.metricName }, leads ? 1 : 0);
	}

	async #acquire(signal: AbortSignal): Promise<void> {
		let waitingFor: string | undefined;
		while (!signal.aborted) {
			const owner = await this.#attempt().catch((err) => {
				this.#log.warn({ err }, "the lease could not be acquired");
				return waitingFor;
			});
			if (this.#isCurrent()) {
				this.#log.info({ identity: this.#options.identity }, "leading");
				return;
			}
			if (owner !== waitingFor) this.#log.info({ owner }, "standing by");
			waitingFor = owner;
			await this.#pause(signal);
		}
	}

	/** Renews until the signal fires. Calls `onLost` once when that fails for too long. */
	async #keep(signal: AbortSignal, onLost: () => void): Promise<void> {
		for (;;) {
			await this.#pause(signal);
			if (signal.aborted) return;
			const leftMs =
				this.#renewDeadlineMs - (performance.now() - this.#renewedMs);
			// A hanging request must not outlast the deadline.
			await Promise.race([
				this.#attempt().catch((err) =>
					this.#log.warn({ err }, "the lease could not be renewed"),
				),
				sleep(Math.max(leftMs, 0), undefined, { ref: false }),
			]);
			if (!this.#isCurrent() || !this.#isOurs()) {
				this.#log.error(
					this.#isOurs()
						? `lost the lease: it could not be renewed for ${this.#renewDeadlineMs / 1000} s. This process ends; after a restart it waits for the apiserver and continues`
						: `lost the lease to ${this.#sighting?.lease.spec?.holderIdentity}. This process ends; after a restart it stands by`,
				);
				onLost();
				return;
			}
		}
	}

	/** Reads the lease and acts on it. Returns the owner when that is another process. Throws when the apiserver fails. */
	async #attempt(): Promise<string | undefined> {
		const { namespace, name, identity } = this.#options;
		const lease = await this.#client.get(kinds.lease, name, namespace);
		const startMs = performance.now();
		this.#sighting = sight(this.#sighting, lease, startMs);
		const decision = decideLease(this.#sighting, identity, startMs);
		if (decision.action === "wait") return decision.owner;
		try {
			const written = await this.#write(lease, identity);
			// The time before the request: others may have seen the renewal as early as that.
			this.#renewedMs = startMs;
			this.#sighting = { lease: written, sinceMs: startMs };
		} catch (error) {
			// Another candidate was faster.
			if (!hasReason(error, "Conflict", "AlreadyExists")) throw error;
		}
		return undefined;
	}

	async #write(lease: Lease | undefined, owner: string): Promise<Lease> {
		const { namespace, name, durationMs } = this.#options;
		const now = microTime(Date.now());
		const before = lease?.spec;
		const same = before?.holderIdentity === owner;
		const taken = before && owner && !same;
		const spec = {
			holderIdentity: owner,
			leaseDurationSeconds: Math.max(1, Math.ceil(durationMs / 1000)),
			acquireTime: (same && before.acquireTime) || now,
			renewTime: now,
			leaseTransitions: (before?.leaseTransitions ?? 0) + (taken ? 1 : 0),
		};
		return lease
			? this.#client.replace(kinds.lease, { ...lease, spec })
			: this.#client.create(kinds.lease, {
					metadata: { namespace, name },
					spec,
				});
	}

	#isCurrent(): boolean {
		return performance.now() - this.#renewedMs < this.#renewDeadlineMs;
	}

	#isOurs(): boolean {
		return (
			this.#sighting?.lease.spec?.holderIdentity === this.#options.identity
		);
	}

	/** Releases the lease, so that the next leader need not wait until it expires. */
	async #release(): Promise<void> {
		if (!this.#isOurs()) return;
		const { namespace, name, identity } = this.#options;
		try {
			// Anew, since its metadata may have been written since the last renewal.
			const lease = await this.#client.get(kinds.lease, name, namespace);
			if (lease?.spec?.holderIdentity === identity)
				await this.#write(lease, "");
		} catch (err) {
			this.#log.warn({ err }, "the lease could not be released");
		}
	}

	async #pause(signal: AbortSignal): Promise<void> {
		// Random, so that candidates that started together drift apart.
		const waitMs = this.#retryMs * (1 + Math.random() / 5);
		await pause(waitMs, signal);
	}
}
