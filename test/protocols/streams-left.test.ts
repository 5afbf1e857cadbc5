import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import {
	type CutRecord,
	decideCut,
	inheritNumbers,
	type StreamFrame,
} from "../../ingest/archive/decide/cut.ts";
import { ofEarlierStreams } from "../../ingest/archive/decide/frame-numbers.ts";
import { formerStream } from "../../ingest/archive/decide/left-frames.ts";
import { framesOf, type Loss } from "../../ingest/archive/decide/loss.ts";
import { LedgerIndex } from "../../ingest/archive/ledger/ledger-index.ts";
import { FrameBuilder } from "../../ingest/receive/commit/frame-builder.ts";
import { decodeFrame, frameId } from "../../ingest/wire/frame.ts";
import { readLeft } from "../../ingest/wire/left-frames.ts";

/*
 * Receivers, streams and an archive take steps at random, by receive's and archive's own functions. Streams are lost with what
 * they hold; receivers are restarted; frames are refused, or stored without a word. In the end each acknowledged frame is in a cut,
 * or told as lost, once; or it is told that nobody knows how many.
 */

interface ModelStream {
	name: string;
	/** Behind what archive has purged. */
	frames: StreamFrame[];
	last: number;
	/** Archive has read through this sequence. */
	read: number;
}

interface Receiver {
	builder: FrameBuilder;
	/** The frames whose senders were told that they are stored. */
	acknowledged: Set<string>;
	isAlive: boolean;
}

/** Numbers from 0 to 1: the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let value = Math.imul(state ^ (state >>> 15), 1 | state);
		value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
		return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
	};
}

class World {
	readonly receivers: Receiver[] = [];
	readonly cuts = new Map<string, CutRecord[]>();
	/** Frames in cuts, without those that repeat one. */
	readonly archived = new Set<string>();
	/** Where the acknowledged frames were stored. */
	readonly places = new Map<
		string,
		{ stream: string; process: string; sequence: number }
	>();
	stream: ModelStream;
	#streams = 0;
	#timeMs = Date.UTC(2026, 2, 1, 12);

	constructor(receivers: number) {
		this.stream = this.#newStream();
		for (let n = 0; n < receivers; n++) this.begin();
	}

	/** A receiver starts. */
	begin(): void {
		this.receivers.push({
			builder: new FrameBuilder({
				newProcess: () => randomBytes(16).toString("hex"),
				maxFrameBytes: 1_000,
			}),
			acknowledged: new Set(),
			isAlive: true,
		});
	}

	publish(
		{ builder, acknowledged }: Receiver,
		outcome: "stored" | "refused" | "stored without a word",
	): void {
		const event = {
			...{ account: "shop", source: "s", encoded: [], bytes: 0 },
			frameVersion: 1 as const,
		};
		const { stream } = this;
		const { frame } = builder.build(stream.name, [event]);
		this.#timeMs += 1_000;
		if (outcome !== "refused") {
			// Its one event is no matter here.
			const data = Buffer.from(frame.data);
			data.writeUInt32BE(0, data.length - 4);
			stream.frames.push({
				...{ sequence: ++stream.last, timeMs: this.#timeMs, bytes: 1 },
				frame: decodeFrame(data),
				left: readLeft(frame.left ?? []),
			});
		}
		if (outcome !== "stored") {
			builder.voided();
			return;
		}
		builder.stored(stream.last, this.#timeMs);
		const id = frameId(frame.process, frame.number);
		const { process } = frame;
		acknowledged.add(id);
		this.places.set(id, {
			stream: stream.name,
			process,
			sequence: stream.last,
		});
	}

	/** The receiver looks at the stream. */
	inspect({ builder }: Receiver): void {
		const { name, frames, last } = this.stream;
		const firstSequence = frames[0]?.sequence ?? last + 1;
		builder.inspected({ stream: name, firstSequence, lastSequence: last });
	}

	read(): void {
		this.stream.read = this.stream.last;
	}

	/** Archive cuts what it has read. @param isHere whether the stream still is. */
	cut(isHere = true): void {
		const { name, frames, read } = this.stream;
		const ofStream = this.cuts.get(name) ?? [];
		const head = ofStream.at(-1);
		// The bucket lists streams in the order of their random names.
		const others = [...this.cuts].reverse().filter(([other]) => other !== name);
		const former = head
			? undefined
			: formerStream(others.map(([, cuts]) => cuts.at(-1)!));
		const taken = frames.filter(
			({ sequence }) => sequence <= read && sequence > (head?.last ?? 0),
		);
		if (taken.length === 0) return;
		const inherited = ofEarlierStreams(
			inheritNumbers(others.flatMap(([, cuts]) => cuts)),
		);
		const cut = decideCut(name, head?.processes ?? inherited, taken, {
			held: new Set(),
			...(former && { former }),
		});
		this.cuts.set(name, [...ofStream, cut]);
		for (const { sequence, frame } of taken)
			if (!cut.repeated.includes(sequence))
				this.archived.add(frameId(frame.process, frame.number));
		if (isHere) this.stream.frames = frames.filter((f) => f.sequence > read);
	}

	/** NATS's disk is lost, or the stream is given up. */
	lose(): void {
		this.cut(false);
		this.stream = this.#newStream();
	}

	#newStream(): ModelStream {
		const name = `tidemill-frames-0-${++this.#streams}`;
		return { name, frames: [], last: 0, read: 0 };
	}

	get losses(): Loss[] {
		return [...this.cuts.values()].flat().flatMap(({ losses = [] }) => losses);
	}

	/**
	 * Whether the frame's process could be missed: it is in a cut of that stream, or somebody has told of the stream through the
	 * frame. If it died at the very end of a stream in which archive had never seen it, nothing could.
	 */
	canMiss(id: string): boolean {
		const { stream, process, sequence } = this.places.get(id)!;
		const known = this.cuts.get(stream)?.at(-1)?.processes[process];
		if (known && !known.isOfEarlierStream) return true;
		return [...this.cuts.values()]
			.flat()
			.flatMap(({ left }) => left?.told ?? [])
			.some((told) => told.stream === stream && told.last >= sequence);
	}

	/** What the shard's ledger says of all cuts, whichever stream's come first. */
	ledger(): LedgerIndex {
		const index = new LedgerIndex();
		for (const cuts of [...this.cuts.values()].reverse())
			for (const cut of cuts) index.add(cut);
		return index;
	}
}

/** Goes one way from the seed. Returns the world when all that live have said all. */
function walk(seed: number, mayRestart: boolean): World {
	const random = randomOf(seed);
	const world = new World(2);
	const living = () => world.receivers.filter(({ isAlive }) => isAlive);
	const anyone = () => living()[Math.floor(random() * living().length)]!;
	const steps = [
		() => world.publish(anyone(), "stored"),
		() => world.publish(anyone(), "stored"),
		() => world.publish(anyone(), "refused"),
		() => world.publish(anyone(), "stored without a word"),
		() => world.inspect(anyone()),
		() => world.read(),
		() => world.cut(),
		() => random() < 0.5 && world.lose(),
		() => {
			if (!mayRestart || random() < 0.5) return;
			anyone().isAlive = false;
			world.begin();
		},
	];
	for (let n = 0; n < 40; n++) steps[Math.floor(random() * steps.length)]!();
	for (const receiver of living())
		for (let n = 0; n < 3; n++) world.publish(receiver, "stored");
	world.read();
	world.cut();
	return world;
}

const seeds = Array.from({ length: 1_500 }, (_, seed) => seed);

function lostIn(world: World): { told: string[]; lost: Set<string> } {
	const told = world.losses.flatMap((loss) =>
		loss.kind === "frames"
			? Array.from({ length: framesOf(loss) }, (_, n) =>
					frameId(loss.process, loss.from + n),
				)
			: [],
	);
	const lost = world.receivers.reduce(
		(all, { acknowledged }) => all.union(acknowledged),
		new Set<string>(),
	);
	return { told, lost: lost.difference(world.archived) };
}

test("while receivers live, exactly the frames that were lost with streams are told, each once", () => {
	let found = 0;
	for (const seed of seeds) {
		const world = walk(seed, false);
		const { told, lost } = lostIn(world);
		expect(told.toSorted(), `seed ${seed}`).toEqual([...lost].sort());
		const { lostFrames } = world.ledger();
		const counted = [...lostFrames.values()].reduce((sum, n) => sum + n, 0);
		expect(counted, `seed ${seed}`).toBe(lost.size);
		found += lost.size;
	}
	expect(found).toBeGreaterThan(seeds.length);
});

test("what nobody alive can tell is told as unknown, never as nothing, and what is told is lost", () => {
	let unknown = 0;
	for (const seed of seeds) {
		const world = walk(seed, true);
		const { told, lost } = lostIn(world);
		expect(new Set(told).size, `seed ${seed}`).toBe(told.length);
		for (const frame of told)
			expect([...lost], `seed ${seed}`).toContain(frame);
		const untold = [...lost.difference(new Set(told))];
		if (!untold.some((id) => world.canMiss(id))) continue;
		expect(world.ledger().unknownSince, `seed ${seed}`).toBeDefined();
		unknown++;
	}
	expect(unknown).toBeGreaterThan(seeds.length / 100);
});

test("with no stream lost, nothing is told, whatever else happens", () => {
	for (const seed of seeds) {
		const world = walk(seed, true);
		if (world.stream.name !== "tidemill-frames-0-1") continue;
		expect(world.losses, `seed ${seed}`).toEqual([]);
		expect(world.ledger().unknownSince, `seed ${seed}`).toBeUndefined();
	}
});
