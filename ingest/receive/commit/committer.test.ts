import { beforeEach, expect, test } from "vitest";
import { decodeFrame, encodeEvent } from "../../wire/frame.ts";
import {
	Committer,
	type OutgoingFrame,
	type PublishOutcome,
} from "./committer.ts";

interface Attempt {
	frame: OutgoingFrame;
	settle(outcome: PublishOutcome): Promise<void>;
}

let now: number;
let attempts: Attempt[];
/** What was given to be published, as it is now. */
let published: OutgoingFrame[];
let deferred: (() => void)[];
/** What became of each event, by its body. */
let answers: Record<string, "stored" | "unavailable">;
let held: number;
/** What was said when each event's bytes were given up, by its body: the outcome, and the number of its frame. */
let released: Record<string, string>;
let processes: number;
let committer: Committer;

beforeEach(() => {
	now = 1_000_000;
	attempts = [];
	published = [];
	deferred = [];
	answers = {};
	held = 0;
	released = {};
	processes = 0;
	committer = new Committer({
		publish: (frame) =>
			new Promise((resolve) => {
				published.push(frame);
				attempts.push({
					// Its bytes may be another frame's once it is stored.
					frame: { ...frame, data: Buffer.from(frame.data) },
					settle: async (outcome) => {
						resolve(outcome);
						await null;
						await null;
						turn();
					},
				});
			}),
		newProcess: () => String(++processes).padStart(32, "0"),
		defer: (run) => deferred.push(run),
		now: () => now,
		maxFrameBytes: 1_000,
	});
	committer.target("s1");
});

/** The rest of one turn of the event loop. */
function turn(): void {
	for (const run of deferred.splice(0)) run();
}

function add(
	name: string,
	size = name.length,
	waitsSinceMs = now,
	key?: string,
): void {
	const body = Buffer.from(name.padEnd(size));
	const encoded = encodeEvent({
		id: Buffer.alloc(16),
		receivedAtMs: now,
		sourceKey: "0".repeat(32),
		account: "shop",
		kind: "json",
		headers: "",
		violations: "",
		key,
		body,
	});
	const answer = (outcome: "stored" | "unavailable") => {
		expect(answers).not.toHaveProperty(name);
		answers[name] = outcome;
	};
	held++;
	committer.add({
		source: "orders",
		waitsSinceMs,
		encoded,
		bytes: encoded[0].length + body.length,
		answerStored: () => answer("stored"),
		answerUnavailable: () => answer("unavailable"),
		hasKey: key !== undefined,
		release: (outcome, frame) => {
			held--;
			released[name] = `${outcome} ${frame?.number}`;
		},
	});
}

function tickAfter(ms: number): void {
	now += ms;
	committer.tick();
	turn();
}

function read(attempt: Attempt | undefined) {
	const { frame } = attempt!;
	const { process, number, voided, events } = decodeFrame(frame.data);
	expect({ process, number }).toEqual({
		process: frame.process,
		number: frame.number,
	});
	return {
		stream: frame.stream,
		process: Number(process),
		number,
		voided,
		events: events.map(({ body }) => body.toString().trim()),
	};
}

test("what one turn of the event loop reads is one frame", () => {
	add("a");
	add("b");
	expect(attempts).toHaveLength(0);
	turn();
	expect(attempts.map(read)).toEqual([
		{ stream: "s1", process: 1, number: 1, voided: [], events: ["a", "b"] },
	]);
	expect(answers).toEqual({});
});

test("what arrives while a frame is on its way becomes the next one", async () => {
	add("a");
	turn();
	add("b");
	turn();
	add("c");
	turn();
	expect(attempts).toHaveLength(1);
	await attempts[0]!.settle("stored");
	expect(answers).toEqual({ a: "stored" });
	expect(read(attempts[1])).toMatchObject({ number: 2, events: ["b", "c"] });
	await attempts[1]!.settle("stored");
	expect(answers).toEqual({ a: "stored", b: "stored", c: "stored" });
	expect(held).toBe(0);
});

test("a frame holds no more bytes than allowed", async () => {
	for (const name of ["a", "b", "c"]) add(name, 400);
	turn();
	expect(attempts[0]!.frame.data.length).toBeLessThanOrEqual(1_000);
	expect(read(attempts[0]).events).toEqual(["a", "b"]);
	await attempts[0]!.settle("stored");
	expect(read(attempts[1]).events).toEqual(["c"]);
});

test("an event that is larger than a frame should be has one of its own", async () => {
	for (const [name, size] of Object.entries({ a: 1, b: 5_000, c: 1 }))
		add(name, size);
	turn();
	for (let n = 0; n < 3; n++) await attempts[n]?.settle("stored");
	expect(attempts.map((attempt) => read(attempt).events)).toContainEqual(["b"]);
	expect(answers).toEqual({ a: "stored", b: "stored", c: "stored" });
});

test("a publish of unknown outcome is repeated, the same bytes under the same number", async () => {
	add("a");
	turn();
	await attempts[0]!.settle("unknown");
	add("b");
	turn();
	tickAfter(249);
	expect(attempts).toHaveLength(1);
	tickAfter(1);
	expect(attempts[1]!.frame.data).toEqual(attempts[0]!.frame.data);
	expect(read(attempts[1])).toMatchObject({ number: 1, events: ["a"] });
	expect(answers).toEqual({});
	await attempts[1]!.settle("stored");
	expect(answers).toEqual({ a: "stored" });
	expect(read(attempts[2])).toMatchObject({ number: 2, voided: [] });
});

test("a frame's bytes are left alone until its publish is known to be over", async () => {
	add("a");
	turn();
	await attempts[0]!.settle("unknown");
	tickAfter(250);
	const { data } = published[1]!;
	// The first publish may be on its way still.
	await attempts[1]!.settle("stored");
	for (const name of ["b", "c"]) {
		add(name);
		turn();
		await attempts.at(-1)!.settle("stored");
	}
	expect(decodeFrame(data).events[0]!.body.toString()).toBe("a");
	expect(attempts.slice(2).map(read)).toMatchObject([
		{ number: 2, events: ["b"] },
		{ number: 3, events: ["c"] },
	]);
	// Of those that were published once the memory is used again.
	expect(published[3]!.data.buffer).toBe(published[2]!.data.buffer);
});

test("a refused frame's senders are told, and its number is named until a frame that names it is stored", async () => {
	add("a");
	turn();
	await attempts[0]!.settle("refused");
	expect(answers).toEqual({ a: "unavailable" });
	add("b");
	turn();
	expect(read(attempts[1])).toMatchObject({ number: 2, voided: [1] });
	await attempts[1]!.settle("refused");
	add("c");
	turn();
	expect(read(attempts[2])).toMatchObject({ number: 3, voided: [1, 2] });
	await attempts[2]!.settle("stored");
	add("d");
	turn();
	expect(read(attempts[3])).toMatchObject({ number: 4, voided: [] });
});

test("a sender is told within a second, while its frame is repeated up to 60 s after its receipt and then voided", async () => {
	add("a");
	turn();
	await attempts.at(-1)!.settle("unknown");
	tickAfter(799);
	expect(answers).toEqual({});
	await attempts.at(-1)!.settle("unknown");
	tickAfter(1);
	expect(answers).toEqual({ a: "unavailable" });
	expect(held).toBe(1);

	tickAfter(59_199);
	expect(attempts).toHaveLength(3);
	await attempts.at(-1)!.settle("unknown");
	tickAfter(250);
	expect(attempts).toHaveLength(3);
	expect(held).toBe(0);
	add("b");
	turn();
	expect(read(attempts[3])).toMatchObject({ number: 2, voided: [1] });
});

test("a frame found to be stored after its senders were told answers nobody twice", async () => {
	add("a");
	turn();
	tickAfter(800);
	expect(answers).toEqual({ a: "unavailable" });
	await attempts[0]!.settle("stored");
	expect(answers).toEqual({ a: "unavailable" });
	expect(held).toBe(0);
});

test("of a frame only those are told to come again who have waited long enough", async () => {
	add("late");
	add("waited before", undefined, now - 9_500);
	turn();
	tickAfter(500);
	expect(answers).toEqual({ "waited before": "unavailable" });
	expect(held).toBe(2);
	await attempts[0]!.settle("stored");
	expect(answers).toEqual({ "waited before": "unavailable", late: "stored" });
	expect(held).toBe(0);
});

test("without a stream an event waits less than a second, and no frame is made of it afterwards", () => {
	committer.target(undefined);
	add("a");
	turn();
	tickAfter(600);
	add("b");
	tickAfter(199);
	expect(answers).toEqual({});
	tickAfter(1);
	expect(answers).toEqual({ a: "unavailable" });
	committer.target("s1");
	turn();
	expect(attempts.map(read)).toMatchObject([{ number: 1, events: ["b"] }]);
});

test("behind a frame that gets no answer an event waits less than a second, too", async () => {
	add("a");
	turn();
	tickAfter(500);
	add("b");
	tickAfter(799);
	expect(answers).toEqual({ a: "unavailable" });
	tickAfter(1);
	expect(answers).toEqual({ a: "unavailable", b: "unavailable" });
	expect(held).toBe(1);
	await attempts[0]!.settle("stored");
	expect(attempts).toHaveLength(1);
});

test("while frames are acknowledged, however slowly, nobody is sent away", async () => {
	add("a");
	turn();
	add("b");
	tickAfter(700);
	await attempts[0]!.settle("stored");
	tickAfter(700);
	expect(answers).toEqual({ a: "stored" });
	await attempts[1]!.settle("stored");
	expect(answers).toEqual({ a: "stored", b: "stored" });
});

test("nothing is published, or repeated, while the stream is away", async () => {
	add("a");
	turn();
	await attempts[0]!.settle("unknown");
	committer.target(undefined);
	tickAfter(5_000);
	expect(attempts).toHaveLength(1);
	committer.target("s1");
	tickAfter(0);
	expect(attempts).toHaveLength(2);
});

test("another stream gets numbers from 1 under another process, and none of the old one's frames", async () => {
	add("a");
	turn();
	await attempts[0]!.settle("unknown");
	committer.target("s2");
	add("b");
	tickAfter(250);
	expect(answers).toEqual({ a: "unavailable" });
	expect(read(attempts[1])).toEqual({
		stream: "s2",
		process: 2,
		number: 1,
		voided: [],
		events: ["b"],
	});
});

test("a stream that refuses for hours doesn't make the list of voided numbers endless", async () => {
	for (let i = 0; i < 1_001; i++) {
		add(`e${i}`);
		turn();
		await attempts[i]!.settle("refused");
	}
	expect(read(attempts[999])).toMatchObject({
		process: 1,
		number: 1_000,
	});
	expect(read(attempts[1_000])).toMatchObject({
		process: 2,
		number: 1,
		voided: [],
	});
});

test("a frame is of version 2 when one of its events has a key, and of version 1 else", async () => {
	add("a");
	add("b", 1, now, "0f".repeat(16));
	turn();
	expect(attempts[0]!.frame.data[3]).toBe(2);
	expect(read(attempts[0]).events).toEqual(["a", "b"]);
	await attempts[0]!.settle("stored");
	add("c");
	turn();
	expect(attempts[1]!.frame.data[3]).toBe(1);
});

test("what became of an event is told when it is known, however late, also when it stood in no frame", async () => {
	add("stored late");
	turn();
	add("never sent");
	tickAfter(10_000);
	expect(answers).toEqual({
		"stored late": "unavailable",
		"never sent": "unavailable",
	});
	expect(released).toEqual({ "never sent": "refused undefined" });
	await attempts[0]!.settle("stored");
	expect(released["stored late"]).toBe("stored 1");
	add("given up");
	turn();
	await attempts[1]!.settle("unknown");
	tickAfter(60_000);
	expect(released["given up"]).toBe("unknown 2");
});
