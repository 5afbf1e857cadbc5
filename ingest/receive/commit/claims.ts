import { randomUUID } from "node:crypto";
import { jetstream } from "@nats-io/jetstream";
// @nats-io/kv: the NATS makers' own key-value client.
import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { bucket, framesSubject } from "../../../packages/contracts/nats.ts";
import type { Route } from "../../../packages/contracts/route.ts";
import { FairQuota } from "../../../packages/fair/fair-quota.ts";
import { FairRoom } from "../../../packages/fair/fair-room.ts";
import type { Logger } from "../../../packages/service/log.ts";
import { backoffMs } from "../../../packages/service/pause.ts";
import { frameId } from "../../wire/frame.ts";
import {
	entryKey,
	type IdempotencyBucket,
	IdempotencyBucketFull,
} from "../../wire/idempotency-bucket.ts";
import {
	type ClaimedEntry,
	claimed,
	type IdempotencyEntry,
	onRefused,
	onStored,
	reactionTo,
	type ShardProgress,
} from "../../wire/idempotency-entry.ts";
import { type RequestRefusal, refusals } from "../request/refusal.ts";
import type { OutgoingFrame, PublishOutcome } from "./frame-builder.ts";

/** The right to store an event under this id. Whoever has it must settle it with what became of the event. */
export interface KeyClaim {
	/** {@link entryKey} */
	key: string;
	account: string;
	entry: ClaimedEntry;
	/** Undefined when NATS didn't say whether it wrote the entry. */
	revision: number | undefined;
}

interface ClaimsOptions {
	bucket: Pick<IdempotencyBucket, "read" | "write" | "count" | "countOf">;
	/** Whether the shard can store events now. */
	isOpen(shard: number): boolean;
	progress(shard: number): Promise<ShardProgress>;
	/** Milliseconds since the epoch. */
	dateMs(): number;
	/** Milliseconds of a clock that never jumps. */
	now(): number;
	delay(ms: number): Promise<void>;
	log: Logger;
}

/** What became of a request with a key: for metrics. */
export type KeyOutcome = "claimed" | "taken_over" | "repeated" | "refused";

/** Beyond these archive settles the rest, so that memory stays bounded while NATS is away. */
const maxSettling = 20_000;
const settleForMs = 60_000;
const backoff = { baseMs: 250, maxMs: 5_000 };
/** After this long the process was stopped in between, and another may hold the claim by now. */
const maxClaimMs = 10_000;

/** Receive's part in {@link file://../../wire/idempotency-entry.ts}: it claims keys and settles the claims. */
export class KeyClaims {
	readonly outcomes: Record<KeyOutcome, number> = {
		claimed: 0,
		taken_over: 0,
		repeated: 0,
		refused: 0,
	};
	readonly #options: ClaimsOptions;
	readonly #quota: FairQuota;
	readonly #settling = new Set<Promise<void>>();
	// The last place is somebody's, too.
	readonly #places = new FairRoom(maxSettling + 1);

	constructor(options: ClaimsOptions) {
		this.#options = options;
		const { bucket, now } = options;
		this.#quota = new FairQuota({
			countAll: async () => {
				const { keys, maxKeys } = await bucket.count();
				return { entries: keys, maxEntries: maxKeys };
			},
			countOf: (account) => bucket.countOf(account),
			now,
		});
	}

	/** Entries in the bucket, as far as this receiver knows. */
	get keys(): number {
		return this.#quota.entries;
	}

	/**
	 * Claims a key for an event. Never rejects; settles within a few times the bucket's timeout.
	 *
	 * @param digest the key's digest.
	 * @param event the event's id if the key is new.
	 * @param former the digest under which an earlier version kept the same key: for as long as such an entry lives, it counts.
	 */
	async claim(
		digest: string,
		event: string,
		route: Pick<Route, "account" | "shard" | "idempotency">,
		former?: string,
	): Promise<KeyClaim | { repeatOf: string } | RequestRefusal> {
		const { now, log } = this.#options;
		const startedAtMs = now();
		try {
			const kept = former && (await this.#keptBefore(former, route));
			const answer = kept || (await this.#claim(digest, event, route));
			void this.#quota.look(route.account);
			if ("entry" in answer && now() - startedAtMs > maxClaimMs) {
				this.#giveBack(answer);
				throw new Error("it took too long");
			}
			if ("repeatOf" in answer) this.outcomes.repeated++;
			else if ("status" in answer) this.outcomes.refused++;
			else if (answer.entry.event === event) this.outcomes.claimed++;
			else this.outcomes.taken_over++;
			return answer;
		} catch (error) {
			log.debug({ err: error }, "failed to claim an idempotency key");
			this.outcomes.refused++;
			return error instanceof IdempotencyBucketFull
				? refusals.TooManyKeys
				: refusals.StorageUnavailable;
		}
	}

	/** What an entry of an earlier version says; undefined if its event isn't stored. */
	async #keptBefore(
		digest: string,
		{ account, shard }: Pick<Route, "account" | "shard">,
	): Promise<{ repeatOf: string } | RequestRefusal | undefined> {
		const { bucket, isOpen } = this.#options;
		if (!isOpen(shard)) return refusals.StorageUnavailable;
		const kept = await bucket.read(entryKey(account, digest));
		if (!kept) return undefined;
		const reaction = await this.#reactionTo(kept.entry, shard);
		if (reaction === "repeat") return { repeatOf: kept.entry.event };
		return reaction === "wait" ? refusals.KeyInUse : undefined;
	}

	/** @param shard of the route. */
	async #reactionTo(entry: IdempotencyEntry, shard: number) {
		const { progress, dateMs } = this.#options;
		// Without an answer about archive's progress the sender must wait.
		const far =
			entry.state === "claimed" && dateMs() > entry.deadlineMs
				? await progress(entry.shard ?? shard).catch(() => undefined)
				: undefined;
		return reactionTo(entry, far);
	}

	async #claim(
		digest: string,
		event: string,
		route: Pick<Route, "account" | "shard" | "idempotency">,
	): Promise<KeyClaim | { repeatOf: string } | RequestRefusal> {
		const { bucket, isOpen, dateMs } = this.#options;
		const { account, shard, idempotency } = route;
		if (!isOpen(shard)) return refusals.StorageUnavailable;
		const windowMs = idempotency!.windowSeconds * 1000;
		const times = { nowMs: dateMs(), windowMs, shard };
		const key = entryKey(account, digest);
		const added = await this.#quota.add(account, () => {
			const entry = claimed(event, randomUUID(), times);
			return this.#write({ key, account, entry }, 0);
		});
		if (added !== undefined && added !== "full") return added;
		const kept = await bucket.read(key);
		// The entry has just expired or never existed. The sender's next try gets the key.
		if (!kept)
			return added === "full" ? refusals.TooManyKeys : refusals.KeyInUse;
		const before = kept.entry;
		switch (await this.#reactionTo(before, shard)) {
			case "repeat":
				return { repeatOf: before.event };
			case "wait":
				return refusals.KeyInUse;
			case "take over": {
				const entry = claimed(event, randomUUID(), times, before);
				return (
					(await this.#write({ key, account, entry }, kept.revision)) ??
					refusals.KeyInUse
				);
			}
		}
	}

	/** Returns undefined when another write was first. When NATS doesn't say, the claim is given back in the background. */
	async #write(
		claim: Omit<KeyClaim, "revision">,
		before: number,
	): Promise<KeyClaim | undefined> {
		try {
			const { key, entry } = claim;
			const revision = await this.#options.bucket.write(key, entry, before);
			return revision === undefined ? undefined : { ...claim, revision };
		} catch (error) {
			if (!(error instanceof IdempotencyBucketFull))
				this.#giveBack({ ...claim, revision: undefined });
			throw error;
		}
	}

	/** Records what became of the event: `stored` in this frame, or `refused`. An `unknown` outcome is left to archive. */
	settle(
		claim: KeyClaim,
		outcome: PublishOutcome,
		frame?: OutgoingFrame,
	): void {
		if (outcome === "stored")
			this.#markStored(claim, frameId(frame!.process, frame!.number));
		else if (outcome === "refused") this.#giveBack(claim);
	}

	/** From now on a repeat gets this event's id. */
	#markStored(claim: KeyClaim, frame: string): void {
		const { event } = claim.entry;
		this.#settleInBackground(claim, (entry) => {
			const stored = onStored(entry, event, frame);
			return typeof stored === "string" ? undefined : stored;
		});
	}

	/** From now on a repeat can take the id over without waiting. */
	#giveBack(claim: KeyClaim): void {
		this.#settleInBackground(claim, (entry) =>
			onRefused(entry, claim.entry.claim),
		);
	}

	/** Settles when every earlier claim is settled or given up. */
	async settled(): Promise<void> {
		while (this.#settling.size > 0) await Promise.all(this.#settling);
	}

	#settleInBackground(
		claim: KeyClaim,
		change: (entry: IdempotencyEntry) => IdempotencyEntry | undefined,
	): void {
		const { account } = claim;
		if (!this.#places.take(account, 1)) return;
		const settling = this.#settle(claim, change).finally(() => {
			this.#settling.delete(settling);
			this.#places.giveBack(account, 1);
		});
		this.#settling.add(settling);
	}

	/** Gives up after a minute: then archive records the event, or the claim's deadline frees the key. */
	async #settle(
		claim: KeyClaim,
		change: (entry: IdempotencyEntry) => IdempotencyEntry | undefined,
	): Promise<void> {
		const { bucket, now, delay } = this.#options;
		const untilMs = now() + settleForMs;
		let kept: { entry: IdempotencyEntry; revision: number } | undefined =
			claim.revision === undefined
				? undefined
				: { entry: claim.entry, revision: claim.revision };
		for (let failures = 0; now() < untilMs; ) {
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
				// The entry has expired, unless a write whose outcome is unknown is still on its way.
				if (claim.revision !== undefined) return;
			} catch {
				kept = undefined;
			}
			await delay(backoffMs(++failures, backoff));
		}
	}
}

/** Asks NATS how far a shard's stream and its archiving are. Throws when NATS doesn't answer. @param timeoutMs for each answer. */
export async function readShardProgress(
	connection: NatsConnection,
	shard: number,
	timeoutMs: number,
): Promise<ShardProgress> {
	const client = jetstream(connection, { timeout: timeoutMs });
	const { streams } = await client.jetstreamManager(false);
	const stream = await streams.find(framesSubject(shard));
	// Keep this order: the archived sequence must be no older than the stream's.
	const { ts, state } = await streams.info(stream);
	const done = await (await new Kvm(client).open(bucket.objectsDone)).get(
		stream,
	);
	return {
		nowMs: Date.parse(ts ?? ""),
		lastSequence: state.last_seq,
		firstStoredAtMs: state.messages > 0 ? Date.parse(state.first_ts) : NaN,
		objectsDone: done?.operation === "PUT" ? Number(done.string()) : 0,
	};
}
