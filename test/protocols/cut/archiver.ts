import {
	type CutRecord,
	eventsOfCut,
	isLost,
	lostCut,
	type StreamFrame,
} from "../../../ingest/archive/decide/cut.ts";
import type { Loss } from "../../../ingest/archive/decide/loss.ts";
import { frameId } from "../../../ingest/wire/frame.ts";
import type { Protocol } from "./protocol.ts";
import {
	Interner,
	isQuarantined,
	type ModelArchiver,
	type ModelFrame,
	type ModelStream,
	purged,
	type ScriptFrame,
	type World,
} from "./world.ts";

/** What a step changes in the world, and the archiver after it. */
export type Change = Partial<World> & { archiver: ModelArchiver };

/**
 * The steps of ingest/archive/catch-up.ts and session.ts, one request to NATS or the bucket each. The functions that those
 * call decide here, too.
 */
export class ArchiverSteps {
	readonly #script: readonly ScriptFrame[];
	readonly #protocol: Protocol;
	readonly #cuts = new Interner<CutRecord>();
	readonly #numbers = new Interner<CutRecord["processes"]>();

	constructor(script: readonly ScriptFrame[], protocol: Protocol) {
		this.#script = script;
		this.#protocol = protocol;
	}

	/** What the cuts in the bucket say is lost. */
	losses({ cuts }: World): Loss[] {
		return Object.values(cuts).flatMap((ofStream) =>
			Object.values(ofStream).flatMap(
				(cut) => this.#cuts.value(cut).losses ?? [],
			),
		);
	}

	/** The changes of which one comes next; none while there is nothing to do. Throws Alarm. */
	next(world: World, archiver: ModelArchiver): Change[] {
		if (archiver.at === "stopped") return [];
		if (archiver.at === "open") return [this.#open(world, archiver)];
		if (archiver.stream !== world.stream.name && needsStream[archiver.at])
			return [beginAnew(archiver)];
		switch (archiver.at) {
			case "list cuts":
				return [this.#listCuts(world, archiver)];
			case "find position":
				return [this.#findPosition(world, archiver)];
			case "read ahead":
				return this.#readAhead(world, archiver);
			case "decide":
				return [this.#decide(world, archiver)];
			case "decide a loss":
				return [this.#decideLoss(world, archiver)];
			case "read the cut":
				return [this.#readCut(world, archiver)];
			case "write objects":
				return [this.#writeObject(world, archiver)];
			case "publish objects-done":
				return [this.#publishObjectsDone(world, archiver)];
			case "purge":
				return [this.#purge(world, archiver)];
		}
	}

	#open(world: World, { life }: ModelArchiver): Change {
		const { stream, deletion } = world;
		const { name, first: firstSequence } = stream;
		const objectsDone = world.objectsDone[name] ?? 0;
		return {
			archiver: {
				at: "list cuts",
				stream: name,
				firstSequence,
				...(!this.#protocol.readsDoneLate && { objectsDone }),
				...(this.#protocol.hasTombstones &&
					deletion &&
					deletion.at !== "wanted" && { knowsDeletion: true as const }),
				...(this.#protocol.hasRandomNames && { life: (life ?? 0) + 1 }),
			},
		};
	}

	#listCuts({ cuts }: World, archiver: ModelArchiver): Change {
		const head = Object.values(cuts[archiver.stream!] ?? {}).at(-1);
		const ofOthers = Object.entries(cuts)
			.filter(([stream]) => stream !== archiver.stream)
			.flatMap(([, records]) => Object.values(records))
			.map((cut) => this.#cuts.value(cut));
		const inherited = this.#numbers.intern(
			this.#protocol.inheritNumbers(ofOthers),
		);
		return {
			archiver: {
				...archiver,
				at: "find position",
				...(head !== undefined && { head }),
				inherited,
			},
		};
	}

	#findPosition(world: World, archiver: ModelArchiver): Change {
		const { stream, objectsDone } = world;
		const head = this.#headOf(archiver);
		const { from, unfinished, lost } = this.#protocol.resume(
			stream.name,
			head,
			{
				firstSequence: archiver.firstSequence!,
				heldFrom: firstHeld(stream, (head?.last ?? 0) + 1),
				...this.#streamAt(stream, head?.last ?? 0),
			},
			archiver.objectsDone ?? objectsDone[stream.name] ?? 0,
		);
		if (lost) {
			const inherited = this.#numbers.value(archiver.inherited!);
			const loss = { kind: "sequences", ...lost, time: "" } as const;
			const cut = this.#cuts.intern(
				lostCut(stream.name, loss, head, inherited),
			);
			return { archiver: { ...archiver, at: "decide a loss", cut } };
		}
		return {
			...(stream.first < from && { stream: purged(stream, from) }),
			archiver: {
				at: unfinished ? "read the cut" : "read ahead",
				stream: stream.name,
				...(archiver.head !== undefined && { head: archiver.head }),
				...(unfinished && { cut: archiver.head! }),
				inherited: archiver.inherited!,
				from,
				frames: [],
				...(archiver.knowsDeletion && { knowsDeletion: true as const }),
				...(archiver.life !== undefined && { life: archiver.life }),
			},
		};
	}

	/** One frame more, or the decision to make a cut of those in memory. */
	#readAhead({ stream }: World, archiver: ModelArchiver): Change[] {
		const frames = archiver.frames!;
		const next = archiver.from! + frames.length;
		const changes: Change[] = [];
		if (frames.length > 0)
			changes.push({ archiver: { ...archiver, at: "decide" } });
		if (next < stream.first || archiver.isReaderGone)
			return [...changes, beginAnew(archiver)];
		const frame = stream.frames[next - stream.first];
		if (frame === null && frames.length === 0) return [beginAnew(archiver)];
		if (frame)
			changes.push({
				archiver: { ...archiver, frames: [...frames, frame] },
			});
		return changes;
	}

	#decide({ cuts }: World, archiver: ModelArchiver): Change {
		const stream = archiver.stream!;
		const known =
			this.#headOf(archiver)?.processes ??
			this.#numbers.value(archiver.inherited!);
		const mine = this.#protocol.decideCut(
			stream,
			known,
			this.#storedFrames(archiver.from!, archiver.frames!),
		);
		const standing = cuts[stream]?.[mine.first];
		const number = this.#cuts.intern(mine);
		const cut =
			this.#protocol.followsRecords && standing !== undefined
				? standing
				: number;
		return {
			cuts: {
				...cuts,
				[stream]: { ...cuts[stream], [mine.first]: standing ?? number },
			},
			archiver: { ...archiver, at: "read the cut", head: cut, cut },
		};
	}

	#decideLoss({ cuts }: World, archiver: ModelArchiver): Change {
		const cut = this.#cuts.value(archiver.cut!);
		const ofStream = { [cut.first]: archiver.cut!, ...cuts[cut.stream] };
		return {
			cuts: { ...cuts, [cut.stream]: ofStream },
			...beginAnew(archiver),
		};
	}

	#readCut({ stream }: World, archiver: ModelArchiver): Change {
		const cut = this.#cuts.value(archiver.cut!);
		if (isLost(cut)) return beginAnew(archiver);
		const frames = [...archiver.frames!];
		for (let next = cut.first + frames.length; next <= cut.last; next++) {
			const frame = stream.frames[next - stream.first];
			if (archiver.stream !== stream.name || archiver.isReaderGone || !frame)
				return beginAnew(archiver);
			frames.push(frame);
		}
		const ofCut = frames.slice(0, cut.last - cut.first + 1);
		// Throws when they aren't the cut's.
		const groups = eventsOfCut(cut, this.#storedFrames(cut.first, ofCut));
		const after: ModelArchiver = { ...archiver, frames, written: 0 };
		if (this.#protocol.purgesFirst)
			return { archiver: { ...after, at: "purge" } };
		return {
			archiver: {
				...after,
				at: groups.length > 0 ? "write objects" : "publish objects-done",
			},
		};
	}

	#writeObject(world: World, archiver: ModelArchiver): Change {
		const cut = this.#cuts.value(archiver.cut!);
		const count = cut.last - cut.first + 1;
		const frames = this.#storedFrames(
			cut.first,
			archiver.frames!.slice(0, count),
		);
		const groups = eventsOfCut(cut, frames);
		const { group, events } = groups[archiver.written!]!;
		const isDeleted = archiver.knowsDeletion && group.sourceKey === "B";
		const suffix = this.#protocol.hasRandomNames
			? `-${world.archivers.indexOf(archiver)}-${archiver.life}`
			: "";
		const folder = this.#protocol.folderOf(group);
		const key = `${folder}/${cut.stream}/${cut.first}${suffix}`;
		const text = events
			.map(({ body }) => Buffer.from(body).toString())
			.join("");
		const written = archiver.written! + 1;
		return {
			// If-None-Match: *
			...(!(key in world.objects || isDeleted) && {
				objects: { ...world.objects, [key]: text },
			}),
			archiver: {
				...archiver,
				written,
				at: written < groups.length ? "write objects" : "publish objects-done",
			},
		};
	}

	#publishObjectsDone({ objectsDone }: World, archiver: ModelArchiver): Change {
		const cut = this.#cuts.value(archiver.cut!);
		const done = Math.max(objectsDone[cut.stream] ?? 0, cut.last);
		return {
			objectsDone: { ...objectsDone, [cut.stream]: done },
			archiver: this.#protocol.purgesFirst
				? this.#afterCut(archiver, cut)
				: { ...archiver, at: "purge" },
		};
	}

	#purge({ stream }: World, archiver: ModelArchiver): Change {
		const cut = this.#cuts.value(archiver.cut!);
		this.#protocol.verifyStream(cut, this.#streamAt(stream, cut.last));
		return {
			stream: purged(stream, cut.last + 1),
			archiver: this.#protocol.purgesFirst
				? {
						...archiver,
						at:
							cut.groups.length > 0 ? "write objects" : "publish objects-done",
					}
				: this.#afterCut(archiver, cut),
		};
	}

	#afterCut(archiver: ModelArchiver, cut: CutRecord): ModelArchiver {
		const { cut: _, written: __, ...rest } = archiver;
		return {
			...rest,
			at: "read ahead",
			from: cut.last + 1,
			frames: archiver.frames!.slice(cut.last - cut.first + 1),
		};
	}

	#headOf({ head }: ModelArchiver): CutRecord | undefined {
		return head === undefined ? undefined : this.#cuts.value(head);
	}

	#streamAt(stream: ModelStream, sequence: number) {
		const frame = stream.frames[sequence - stream.first];
		const stored = frame && this.#storedFrames(sequence, [frame])[0]!;
		return {
			lastSequence: stream.first + stream.frames.length - 1,
			lastFrame: stored
				? {
						id: frameId(stored.frame.process, stored.frame.number),
						time: new Date(stored.timeMs).toISOString(),
					}
				: undefined,
		};
	}

	#storedFrames(first: number, frames: readonly ModelFrame[]): StreamFrame[] {
		return frames.map(([script, timeMs], index) => {
			const { process, number, events } = this.#script[script]!;
			return {
				sequence: first + index,
				timeMs,
				bytes: 1,
				frame: {
					process,
					number,
					voided: [],
					events: [...events].map(eventOf),
				},
			};
		});
	}
}

/** As ingest/archive/read/shard-stream.ts finds it. */
function firstHeld({ first, frames }: ModelStream, from: number): number {
	let held = from;
	while (from >= first && frames[held - first] === null) held++;
	return held;
}

/** Steps for which NATS is asked about the stream by its name. */
const needsStream: Partial<Record<ModelArchiver["at"], true>> = {
	"find position": true,
	"read ahead": true,
	purge: true,
};

/** As after any failure, a crash too: forget all, begin at the newest cut. */
export function beginAnew({ life }: ModelArchiver): {
	archiver: ModelArchiver;
} {
	return { archiver: { at: "open", ...(life !== undefined && { life }) } };
}

function eventOf(letter: string) {
	const isCapital = letter === letter.toUpperCase();
	return {
		...(isQuarantined(letter) && { quarantined: true as const }),
		id: Buffer.from(letter),
		receivedAtMs: 0,
		account: "shop",
		sourceKey: isCapital ? "B" : "a",
		kind: "json" as const,
		headers: "",
		violations: "",
		body: Buffer.from(letter),
	};
}
