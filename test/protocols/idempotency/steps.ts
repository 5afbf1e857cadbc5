import {
	claimed,
	claimMs,
	type IdempotencyEntry,
	onRefused,
	onStored,
	reactionTo,
} from "../../../ingest/wire/idempotency-entry.ts";
import type { Archiver, Kept, Receiver, World } from "./world.ts";

/** What a mutation of the protocol can change. */
export interface Protocol {
	claimed: typeof claimed;
	reactionTo: typeof reactionTo;
	onStored: typeof onStored;
	onRefused: typeof onRefused;
	/** Who takes an id over does it whatever the entry has become meanwhile. */
	takesOverBlindly: boolean;
	/** Archive says that objects are done before it has settled their keys. */
	settlesLast: boolean;
	/** A sender is told before the frame is acknowledged. */
	answersEarly: boolean;
}

export const protocol: Protocol = {
	claimed,
	reactionTo,
	onStored,
	onRefused,
	takesOverBlindly: false,
	settlesLast: false,
	answersEarly: false,
};

const windowMs = 1_000 * claimMs;

/** What a step changes. */
export type Change<Part> = [Part, Partial<World>?];

/** The steps of ingest/receive/commit/claims.ts and what surrounds it, one request to NATS each. */
export function receiverSteps(
	world: World,
	receiver: Receiver,
	rules: Protocol,
): Change<Receiver>[] {
	const { kept, nowMs, stream } = world;
	switch (receiver.at) {
		case "idle": {
			if (world.requestsLeft === 0) return [];
			const event = `e${world.events}`;
			const requestsLeft = world.requestsLeft - 1;
			const events = world.events + 1;
			return [
				[
					{ at: "create", event },
					{ events, requestsLeft },
				],
			];
		}
		case "create": {
			const { event } = receiver;
			if (kept) return [[{ at: "read", event }]];
			const entry = rules.claimed(event, event, { nowMs, windowMs, shard: 0 });
			const revision = world.lastRevision + 1;
			const written = write(world, entry);
			return [
				[{ at: "publish", claim: { entry, revision } }, written],
				// The answer doesn't come.
				[{ at: "settle", claim: { entry } }, written],
			];
		}
		case "read": {
			if (!kept) return [[{ at: "idle" }]];
			const { event } = receiver;
			if (kept.entry.state === "claimed")
				return [[{ at: "look at stream", event, kept }]];
			return [[react(event, kept, undefined, rules), told(world, kept)]];
		}
		case "look at stream":
			return [
				[
					{
						...receiver,
						at: "look at archive",
						stream: lookAt(world),
					},
				],
			];
		case "look at archive": {
			const { event, kept, stream } = receiver;
			const progress = { ...stream, objectsDone: world.objectsDone };
			return [[react(event, kept, progress, rules)]];
		}
		case "take over": {
			const before = receiver.kept;
			const { event } = receiver;
			if (!rules.takesOverBlindly && kept?.revision !== before.revision)
				return [[{ at: "idle" }]];
			const times = { nowMs, windowMs, shard: 0 };
			const entry = rules.claimed(event, event, times, before.entry);
			const revision = world.lastRevision + 1;
			return [
				[{ at: "publish", claim: { entry, revision } }, write(world, entry)],
			];
		}
		case "publish": {
			const { claim } = receiver;
			const { event } = claim.entry;
			const frame = { event, frame: `f${world.frames}` };
			return [
				[
					{ at: "await", claim, frame },
					{
						frames: world.frames + 1,
						onTheWay: [...world.onTheWay, frame],
						...(rules.answersEarly && { told: [...world.told, event] }),
					},
				],
			];
		}
		case "await": {
			const { claim, frame } = receiver;
			const isStored = stream.some((other) => other.frame === frame.frame);
			if (isStored)
				return [
					[
						{ at: "settle", claim, frame, ...keptOf(claim) },
						{ told: [...new Set([...world.told, frame.event])].sort() },
					],
				];
			const isOnTheWay = world.onTheWay.some((it) => it.frame === frame.frame);
			// Lost, and given up after its time.
			return isOnTheWay ? [] : [[{ at: "idle" }]];
		}
		case "settle": {
			const { claim, frame } = receiver;
			const known = receiver.kept ?? kept;
			if (!known) return [[{ at: "idle" }]];
			const entry = frame
				? rules.onStored(known.entry, claim.entry.event, frame.frame)
				: rules.onRefused(known.entry, claim.entry.claim);
			if (entry === undefined || typeof entry === "string")
				return [[{ at: "idle" }]];
			if (known.revision === kept?.revision)
				return [[{ at: "idle" }, write(world, entry)]];
			const { kept: _, ...again } = receiver;
			return [[again]];
		}
	}
}

/** What NATS says about the stream. Archive has purged what is done. */
export function lookAt({ nowMs, stream, objectsDone }: World) {
	const firstStoredAtMs = stream[objectsDone]?.atMs ?? Number.NaN;
	return { nowMs, lastSequence: stream.length, firstStoredAtMs };
}

function react(
	event: string,
	kept: Kept,
	progress: Parameters<typeof reactionTo>[1],
	rules: Protocol,
): Receiver {
	return rules.reactionTo(kept.entry, progress) === "take over"
		? { at: "take over", event, kept }
		: { at: "idle" };
}

/** Whoever finds the event stored says so. */
function told(world: World, { entry }: Kept): Partial<World> {
	return entry.state === "stored"
		? { told: [...new Set([...world.told, entry.event])].sort() }
		: {};
}

function keptOf({
	entry,
	revision,
}: {
	entry: IdempotencyEntry;
	revision?: number;
}) {
	return revision === undefined ? {} : { kept: { entry, revision } };
}

function write(world: World, entry: IdempotencyEntry): Partial<World> {
	const revision = world.lastRevision + 1;
	return { kept: { entry, revision }, lastRevision: revision };
}

/** The steps of ingest/archive, as far as keys are concerned: settleKeys, the cut record, objects-done. */
export function archiverSteps(
	world: World,
	archiver: Archiver,
	rules: Protocol,
): Change<Archiver>[] {
	const { stream, cuts, kept } = world;
	switch (archiver.at) {
		case "read": {
			const first = (cuts.at(-1)?.last ?? 0) + 1;
			if (world.objectsDone < first - 1)
				return [[{ at: "finish", last: first - 1 }]];
			if (first > stream.length) return [];
			// All that are there, or the first alone.
			return [...new Set([first, stream.length])].map((last) => {
				const draft = { cut: cuts.length, next: first, last, copies: [] };
				return [
					{ at: "look", ...draft },
					rules.settlesLast ? { objectsDone: last } : {},
				];
			});
		}
		case "look": {
			const { event, frame } = stream[archiver.next - 1]!;
			const found = rules.onStored(kept?.entry, event, frame);
			if (typeof found === "object") {
				const { revision } = kept!;
				return [[{ ...archiver, at: "mark", entry: found, revision }]];
			}
			return [[settled(archiver, found === "drop")]];
		}
		case "mark": {
			const { entry, revision, ...draft } = archiver;
			if (kept?.revision !== revision) return [[{ ...draft, at: "look" }]];
			return [[settled({ ...draft, at: "look" }, false), write(world, entry)]];
		}
		case "decide": {
			const { cut, last, copies } = archiver;
			const standing = cuts[cut];
			return [
				[
					{ at: "finish", last: standing?.last ?? last },
					standing ? {} : { cuts: [...cuts, { last, copies }] },
				],
			];
		}
		case "finish": {
			const objectsDone = Math.max(world.objectsDone, archiver.last);
			return [[{ at: "read" }, { objectsDone }]];
		}
	}
}

function settled(
	archiver: Extract<Archiver, { at: "look" | "decide" }>,
	isCopy: boolean,
): Archiver {
	const { next, last, copies } = archiver;
	return {
		...archiver,
		at: next === last ? "decide" : "look",
		next: next + 1,
		copies: isCopy ? [...copies, next] : copies,
	};
}
