import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Route } from "../../../contracts/route.ts";
import type { Logger } from "../../../service/log.ts";
import { frameId } from "../../wire/frame.ts";
import {
	type IdempotencyBucket,
	IdempotencyBucketFull,
} from "../../wire/idempotency-bucket.ts";
import {
	type Claimed,
	claimed,
	type IdempotencyEntry,
	onRefused,
	onStored,
	reactionTo,
	type ShardProgress,
} from "../../wire/idempotency-entry.ts";
import { type Refusal, refusals } from "../refusal.ts";
import type { OutgoingFrame, PublishOutcome } from "./committer.ts";

/** Leave to store an event under this id. It is to be settled, with what became of it. */
export interface Claim {
	key: string;
	entry: Claimed;
	/** Undefined when NATS didn't say whether it was written. */
	revision: number | undefined;
}

export interface ClaimsOptions {
	bucket: Pick<IdempotencyBucket, "read" | "write" | "count">;
	/** Events of the shard can be stored now. */
	isOpen(shard: number): boolean;
	progress(shard: number): Promise<ShardProgress>;
	log: Logger;
}

/** What became of a request under a key: for metrics. */
export type KeyOutcome = "claimed" | "taken_over" | "repeated" | "refused";

/** Beyond these, archive does what is left to do: memory stays bounded when NATS is away. */
const maxSettling = 10_000;
const settleForMs = 60_000;
const maxBackoffMs = 5_000;
/** Beyond that, this process was stopped meanwhile, and its claim may be another's by now. */
const maxClaimMs = 10_000;
const countEveryMs = 1_000;

/** Receive's part in {@link file://../../wire/idempotency-entry.ts}: it claims keys, and says what became of the events. */
export class Claims {
	/** Entries in the bucket when it was last looked at. */
	keys = 0;
	readonly outcomes: Record<KeyOutcome, number> = {
		claimed: 0,
		taken_over: 0,
		repeated: 0,
		refused: 0,
	};
	readonly #options: ClaimsOptions;
	readonly #settling = new Set<Promise<void>>();
	#maxKeys = Infinity;
	#countedAtMs = -Infinity;

	constructor(options: ClaimsOptions) {
		this.#options = options;
	}

	/**
	 * Asks for leave to store an event. Never rejects; settles within a few times the bucket's timeout.
	 *
	 * @param event the id that it gets if the key is new.
	 */
	async claim(
		key: string,
		event: string,
		route: Pick<Route, "shard" | "idempotency">,
	): Promise<Claim | { repeatOf: string } | Refusal> {
		const startedAtMs = performance.now();
		try {
			const answer = await this.#claim(key, event, route);
			this.#count();
			if ("entry" in answer && performance.now() - startedAtMs > maxClaimMs) {
				this.#giveBack(answer);
				throw new Error("it took too long");
			}
			if ("repeatOf" in answer) this.outcomes.repeated++;
			else if ("status" in answer) this.outcomes.refused++;
			else if (answer.entry.event === event) this.outcomes.claimed++;
			else this.outcomes.taken_over++;
			return answer;
		} catch (error) {
			this.#options.log.debug({ err: error }, "a key couldn't be claimed");
			this.outcomes.refused++;
			return error instanceof IdempotencyBucketFull
				? refusals.TooManyKeys
				: refusals.StorageUnavailable;
		}
	}

	async #claim(
		key: string,
		event: string,
		route: Pick<Route, "shard" | "idempotency">,
	): Promise<Claim | { repeatOf: string } | Refusal> {
		const { bucket, isOpen, progress } = this.#options;
		const { shard, idempotency } = route;
		if (!isOpen(shard)) return refusals.StorageUnavailable;
		const windowMs = idempotency!.windowSeconds * 1000;
		const times = { nowMs: Date.now(), windowMs };
		if (this.keys < this.#maxKeys) {
			const entry = claimed(event, randomUUID(), times);
			const claim = await this.#write(key, entry, 0);
			if (claim) return claim;
		}
		const kept = await bucket.read(key);
		// It has just expired, or was never there: the next try gets it.
		if (!kept)
			return this.keys < this.#maxKeys
				? refusals.KeyInUse
				: refusals.TooManyKeys;
		const before = kept.entry;
		const isDue = before.state === "claimed" && times.nowMs > before.deadlineMs;
		// Who doesn't hear how far archive is waits on.
		const far = isDue
			? await progress(shard).catch(() => undefined)
			: undefined;
		switch (reactionTo(before, far)) {
			case "repeat":
				return { repeatOf: before.event };
			case "wait":
				return refusals.KeyInUse;
			case "take over": {
				const entry = claimed(event, randomUUID(), times, before);
				return (
					(await this.#write(key, entry, kept.revision)) ?? refusals.KeyInUse
				);
			}
		}
	}

	/** The claim; undefined when another was first. When NATS doesn't say, it is given back in the background. */
	async #write(
		key: string,
		entry: Claimed,
		before: number,
	): Promise<Claim | undefined> {
		try {
			const revision = await this.#options.bucket.write(key, entry, before);
			return revision === undefined ? undefined : { key, entry, revision };
		} catch (error) {
			if (!(error instanceof IdempotencyBucketFull))
				this.#giveBack({ key, entry, revision: undefined });
			throw error;
		}
	}

	/** Says what became of the event: `stored` in this frame, `refused` if it is in none. Settles nothing else. */
	settle(claim: Claim, outcome: PublishOutcome, frame?: OutgoingFrame): void {
		if (outcome === "stored")
			this.#markStored(claim, frameId(frame!.process, frame!.number));
		else if (outcome === "refused") this.#giveBack(claim);
	}

	/** Repeats are told so from now on. */
	#markStored(claim: Claim, frame: string): void {
		const { event } = claim.entry;
		this.#settleInBackground(claim, (entry) => {
			const stored = onStored(entry, event, frame);
			return typeof stored === "string" ? undefined : stored;
		});
	}

	/** A repeat need not wait. */
	#giveBack(claim: Claim): void {
		this.#settleInBackground(claim, (entry) =>
			onRefused(entry, claim.entry.claim),
		);
	}

	/** Settles when nothing is left to say about earlier claims. */
	async settled(): Promise<void> {
		while (this.#settling.size > 0) await Promise.all(this.#settling);
	}

	#settleInBackground(
		claim: Claim,
		change: (entry: IdempotencyEntry) => IdempotencyEntry | undefined,
	): void {
		if (this.#settling.size >= maxSettling) return;
		const settling = this.#settle(claim, change).finally(() =>
			this.#settling.delete(settling),
		);
		this.#settling.add(settling);
	}

	/** Gives up after a minute: then archive, or time, tells what became of the event. */
	async #settle(
		claim: Claim,
		change: (entry: IdempotencyEntry) => IdempotencyEntry | undefined,
	): Promise<void> {
		const { bucket } = this.#options;
		const untilMs = performance.now() + settleForMs;
		let kept: { entry: IdempotencyEntry; revision: number } | undefined =
			claim.revision === undefined
				? undefined
				: { entry: claim.entry, revision: claim.revision };
		for (let failures = 0; performance.now() < untilMs; ) {
			try {
				kept ??= await bucket.read(claim.key);
				if (kept) {
					const entry = change(kept.entry);
					if (!entry) return;
					if (await bucket.write(claim.key, entry, kept.revision)) return;
					// Another write was first. Read what it wrote.
					kept = undefined;
					continue;
				}
				// Expired; but a write that NATS said nothing of may still be on its way.
				if (claim.revision !== undefined) return;
			} catch {
				kept = undefined;
			}
			const bound = Math.min(maxBackoffMs, 250 * 2 ** failures++);
			await delay(bound * (0.5 + Math.random() / 2), undefined, { ref: false });
		}
	}

	/** Looks at the bucket while keys come in, and no more than once a second. */
	#count(): void {
		const nowMs = performance.now();
		if (nowMs - this.#countedAtMs < countEveryMs) return;
		this.#countedAtMs = nowMs;
		this.#options.bucket.count().then(
			({ keys, maxKeys }) => {
				this.keys = keys;
				this.#maxKeys = maxKeys;
			},
			// The next look will tell.
			() => undefined,
		);
	}
}
