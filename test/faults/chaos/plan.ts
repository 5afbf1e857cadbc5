import type { ClockPart } from "./scene/clock.ts";
import {
	type CompactionPoint,
	compactionPoints,
	type Point,
	type When,
} from "./scene/wires/traps.ts";

/** What can be killed and stopped; `self` is the one that stepped on the trap. */
export type Part =
	| "self"
	| "receive"
	| "archive-a"
	| "archive-b"
	| "nats"
	| "s3"
	| "load";

/** When a fault strikes: after so many more acknowledged events, or at the nth time that a step is reached. */
export type Moment =
	| { acknowledged: number }
	| { point: Point; when: When; nth: number };

export type PointMoment = Extract<Moment, { point: Point }>;

export type Fault =
	/** SIGKILL, and a start after that time. */
	| { kind: "kill"; part: Part; forMs: number; at: Moment }
	/** SIGSTOP for that time: a zombie that wakes in the middle of what it did. */
	| { kind: "stop"; part: Part; forMs: number; at: Moment }
	/** The message is lost with its connection: before, a request; after, the answer to one that succeeded. */
	| { kind: "lose"; at: PointMoment }
	/** The store answers so many requests with this status. */
	| { kind: "refuse"; status: number; times: number; at: PointMoment }
	/** No room on the disk until receive says so, and for that time; then there is, and NATS is started again once the chart's reloader would. */
	| { kind: "fill"; part: "nats" | "s3"; forMs: number; at: Moment }
	/** Others' data leaves JetStream no room, for that time after receive has said so. */
	| { kind: "full-jetstream"; forMs: number; at: Moment }
	/** Kubernetes has lost all resources. People restore them for that time, all but one Source, and say then that they have. */
	| { kind: "emptied-etcd"; forMs: number; at: Moment }
	/** NATS's disk keeps what was synced and nothing else. */
	| { kind: "power-loss"; at: Moment }
	/** NATS's only disk is lost, when so many events are in no other place: the server comes back with an empty one. */
	| { kind: "lost-disk"; backlog: number; at: Moment }
	/** A PubAck is lost; its frame is archived and purged; NATS is restarted, and has forgotten the frame's id. */
	| { kind: "forgotten"; nth: number }
	/** The clock comes to midnight while events come in. Before all other faults. */
	| { kind: "midnight"; inMs: number }
	/** The clocks of these parts are wrong by so many hours for that time, and right again afterwards. */
	| {
			kind: "clock";
			parts: readonly ClockPart[];
			hours: number;
			forMs: number;
			at: Moment;
	  }
	| Move
	| BucketLoss
	| OlderBucket
	/** Everything is archived; then NATS gets back its files as they were after so many events. After all other faults. */
	| { kind: "restore"; acknowledged: number; isOvertaken: boolean };

/**
 * Everything is archived and loaded; then the nth object of the loaded Source is gone from the bucket, or all of its newest date.
 * `adds`: the next Run is a schedule's.
 */
export interface BucketLoss {
	kind: "lost-object" | "lost-day";
	nth: number;
	adds: boolean;
}

/**
 * Everything is archived and loaded; then a copy of the bucket, as it was after so many events, is all that is left of it. `adds`: the
 * next Run is a schedule's.
 */
export interface OlderBucket {
	kind: "older-bucket";
	acknowledged: number;
	adds: boolean;
}

/** A Source goes to the next shard, each time after so many more events. It is no fault, and happens beside those. */
export interface Move {
	kind: "move";
	source: number;
	after: number[];
}

export type Random = () => number;

const archiveSteps: [Point, When][] = [
	["cut", "before"],
	["cut", "after"],
	["object", "before"],
	["object", "during"],
	["object", "between"],
	["object", "after"],
	["objects-done", "before"],
	["objects-done", "after"],
	["purge", "before"],
	["purge", "after"],
];
const compactionSteps: [CompactionPoint, When][] = [
	["input", "before"],
	["input", "after"],
	["output", "before"],
	["output", "during"],
	["output", "after"],
	["record", "before"],
	["record", "after"],
	["superseded", "before"],
	["superseded", "after"],
];
/** Whose clocks are wrong together. Receive's and NATS's together give events a wrong date, and those stay. */
const wrongClocks: ClockPart[][] = [
	["receive"],
	["nats"],
	["archive-a"],
	["archive-a", "archive-b"],
	["receive", "nats"],
	["receive", "nats", "archive-a", "archive-b"],
];
const wrongHours = [1, -1, 72, -72];
const lasting: Part[] = ["receive", "archive-a", "archive-b", "nats", "s3"];

/**
 * Every fault that there is, as what makes one with random details. A seed has one of them for certain, in turn, so
 * that as many seeds as there are entries have them all.
 */
const usual: ((random: Random) => Fault)[] = [
	...strikesAt(archiveSteps),
	(random) => kill("self", at("publish", "before", random), random),
	(random) => kill("self", at("publish", "after", random), random),
	(random) => stop("self", at("publish", "after", random), random),
	// The other side dies at the point.
	(random) => kill("nats", at("publish", "after", random), random),
	(random) => kill("nats", at("objects-done", "before", random), random),
	(random) => kill("nats", at("purge", "after", random), random),
	(random) => kill("s3", at("cut", "after", random), random),
	(random) => kill("s3", at("object", "during", random), random),
	// At any moment.
	...lasting.flatMap((part) => [
		(random: Random) => kill(part, anywhere(random), random),
		(random: Random) => stop(part, anywhere(random), random),
	]),
	(random) => kill("load", at("load", "before", random), random),
	(random) => stop("load", at("load", "after", random), random),
	// The network and the store's answers.
	(random) => ({ kind: "lose", at: at("publish", "after", random) }),
	(random) => ({ kind: "lose", at: at("cut", "after", random) }),
	(random) => ({ kind: "lose", at: at("object", "after", random) }),
	(random) => ({ kind: "lose", at: at("objects-done", "after", random) }),
	(random) => ({ kind: "lose", at: at("purge", "after", random) }),
	(random) => refuse(503, at("cut", "before", random), random),
	(random) => refuse(500, at("object", "before", random), random),
	(random) => refuse(409, at("cut", "before", random), random),
	(random) => refuse(500, at("load", "before", random), random),
	// Disks, power, clocks, back-ups.
	(random) => fill("nats", random),
	(random) => fill("s3", random),
	(random) => ({ kind: "full-jetstream", ...lasting1s(random) }),
	(random) => ({ kind: "emptied-etcd", ...lasting1s(random) }),
	(random) => ({ kind: "power-loss", at: anywhere(random) }),
	(random) => ({ kind: "power-loss", at: at("purge", "after", random) }),
	(random) => lostDisk(upTo(60, random), anywhere(random)),
	(random) => lostDisk(0, at("publish", "after", random)),
	(random) => ({ kind: "forgotten", nth: upTo(10, random) }),
	(random) => ({ kind: "midnight", inMs: 1_000 + upTo(1_000, random) }),
	(random) => ({
		kind: "restore",
		acknowledged: upTo(40, random),
		isOvertaken: random() < 0.5,
	}),
	(random) => loss("lost-object", random),
	(random) => loss("lost-day", random),
	// While closed dates are compacted.
	...strikesAt(compactionSteps),
	(random) => kill("s3", at("output", "during", random), random),
	(random) => kill("s3", at("record", "after", random), random),
	(random) => kill("nats", at("output", "after", random), random),
	(random) => ({ kind: "lose", at: at("output", "after", random) }),
	(random) => ({ kind: "lose", at: at("record", "after", random) }),
	(random) => ({ kind: "lose", at: at("superseded", "after", random) }),
	(random) => refuse(503, at("output", "before", random), random),
	(random) => refuse(409, at("record", "before", random), random),
	(random) => refuse(500, at("superseded", "before", random), random),
];

/** Wrong clocks need another NATS, and an older bucket costs half a minute, so they come in their turn alone. */
export const catalogue: typeof usual = [
	...usual,
	...wrongClocks.map((parts) => (random: Random) => wrongClock(parts, random)),
	(random) => ({
		kind: "older-bucket",
		acknowledged: upTo(40, random),
		adds: random() < 0.5,
	}),
];

const faultsOfSeed = 3;
/** There, back, and there again. */
const mostMoves = 3;
/** Seldom both in one plan: they cost seconds. */
const onlyOnce = new Set<Fault["kind"]>([
	"midnight",
	"restore",
	"forgotten",
	"clock",
	"lost-disk",
	"emptied-etcd",
]);
/** Two things that move one clock. */
const movesClock = new Set<Fault["kind"]>(["midnight", "clock"]);
/** Who loses NATS and Kubernetes at once begins anew; and a copy of NATS's files is of the NATS that was lost. */
const losesRoutes = new Set<Fault["kind"]>([
	"lost-disk",
	"emptied-etcd",
	"restore",
]);

/** The faults of a seed in their order, and one Source that moves, unless a clock is wrong. */
export function planOf(seed: number, random: Random): Fault[] {
	const faults = [catalogue[seed % catalogue.length]!(random)];
	while (faults.length < faultsOfSeed) {
		const fault = pick(usual, random)(random);
		if (!faults.some((other) => excludes(other, fault)))
			faults.splice(Math.floor(random() * (faults.length + 1)), 0, fault);
	}
	// A manifest that is asked for meanwhile is as of the wrong time, and NATS's clock ends the time of senders' keys.
	if (!faults.some(({ kind }) => kind === "clock")) faults.push(move(random));
	return faults.sort((a, b) => phase(a) - phase(b));
}

/** Whether one plan has no place for both. */
function excludes(one: Fault, other: Fault): boolean {
	if (one.kind === other.kind && onlyOnce.has(one.kind)) return true;
	if (movesClock.has(one.kind) && movesClock.has(other.kind)) return true;
	if (isBucketLoss(one) && isBucketLoss(other)) return true;
	if (one.kind === "older-bucket") return isBeforeBucket(other);
	if (losesRoutes.has(one.kind) && losesRoutes.has(other.kind)) return true;
	if (one.kind === "clock" || other.kind === "clock")
		return [one, other].some(isOfCompaction);
	// So few dates are compacted that one trap would have all that comes to a step.
	return (
		isOfCompaction(one) &&
		isOfCompaction(other) &&
		stepOf(one) === stepOf(other)
	);
}

/** A copy of the bucket is told apart from what NATS has, and what has been compacted is found by its rows alone. */
function isBeforeBucket(fault: Fault): boolean {
	return (
		isBucketLoss(fault) || isOfCompaction(fault) || losesRoutes.has(fault.kind)
	);
}

function stepOf(fault: Fault): string | undefined {
	return "at" in fault && "point" in fault.at
		? `${fault.at.point} ${fault.at.when}`
		: undefined;
}

/** The order in which a plan's faults can be had: from a clock to be moved, to a run, to the end of all. */
function phase(fault: Fault): number {
	if (fault.kind === "midnight") return 0;
	if (isBucketLoss(fault) || fault.kind === "older-bucket") return 4;
	if (fault.kind === "restore") return 5;
	if (isOfCompaction(fault)) return 2;
	return isOfLoad(fault) ? 3 : 1;
}

/** Whether it strikes while closed dates are compacted. */
export function isOfCompaction(fault: Fault): boolean {
	const points: readonly Point[] = compactionPoints;
	return (
		"at" in fault && "point" in fault.at && points.includes(fault.at.point)
	);
}

export function isBucketLoss(fault: Fault): fault is BucketLoss {
	return fault.kind === "lost-object" || fault.kind === "lost-day";
}

/** Whether it strikes while a Run loads. */
export function isOfLoad(fault: Fault): boolean {
	return "at" in fault && "point" in fault.at && fault.at.point === "load";
}

/** A fault as a person reads it: `kill self at cut after, 2nd time, for 130 ms`. */
export function describe(fault: Fault): string {
	const { kind, ...rest } = fault;
	const words: string[] = [kind];
	if ("part" in rest) words.push(rest.part);
	if ("parts" in rest)
		words.push(`of ${rest.parts.join(", ")} ${rest.hours} h ahead`);
	if ("backlog" in rest) words.push(`with ${rest.backlog} events`);
	if ("status" in rest) words.push(`${rest.times} × ${rest.status}`);
	if ("nth" in rest) words.push(`#${rest.nth}`);
	if ("after" in rest)
		words.push(`Source ${rest.source} after ${rest.after.join(", ")} events`);
	if ("inMs" in rest) words.push(`in ${rest.inMs} ms`);
	if ("adds" in rest) words.push(rest.adds ? "and a schedule" : "and a Run");
	if ("acknowledged" in rest)
		words.push(
			`as after ${rest.acknowledged} events${"isOvertaken" in rest && rest.isOvertaken ? ", overtaken" : ""}`,
		);
	if ("at" in rest)
		words.push(
			"point" in rest.at
				? `at ${rest.at.point} ${rest.at.when} #${rest.at.nth}`
				: `after ${rest.at.acknowledged} events`,
		);
	if ("forMs" in rest) words.push(`for ${rest.forMs} ms`);
	return words.join(" ");
}

function kill(part: Part, at: Moment, random: Random): Fault {
	return { kind: "kill", part, forMs: duration(300, random), at };
}

function stop(part: Part, at: Moment, random: Random): Fault {
	return { kind: "stop", part, forMs: duration(1_500, random), at };
}

/** Every other time long enough that the standby archive takes the shard over. */
function sleep(at: Moment, random: Random): Fault {
	const forMs =
		random() < 0.5 ? duration(1_500, random) : 3_500 + upTo(2_000, random);
	return { kind: "stop", part: "self", forMs, at };
}

function refuse(status: number, at: PointMoment, random: Random): Fault {
	return { kind: "refuse", status, times: upTo(5, random), at };
}

function wrongClock(parts: ClockPart[], random: Random): Fault {
	const forMs = 500 + upTo(1_500, random);
	const hours = pick(wrongHours, random);
	return { kind: "clock", parts, hours, forMs, at: anywhere(random) };
}

function fill(part: "nats" | "s3", random: Random): Fault {
	return { kind: "fill", part, ...lasting1s(random) };
}

function lasting1s(random: Random): { forMs: number; at: Moment } {
	return { forMs: duration(1_000, random), at: anywhere(random) };
}

function lostDisk(backlog: number, at: Moment): Fault {
	return { kind: "lost-disk", backlog, at };
}

function loss(kind: BucketLoss["kind"], random: Random): BucketLoss {
	return { kind, nth: upTo(100, random), adds: random() < 0.5 };
}

function move(random: Random): Move {
	const times = upTo(mostMoves, random);
	return {
		kind: "move",
		source: upTo(100, random),
		after: Array.from({ length: times }, () => upTo(30, random)),
	};
}

/** The part dies at each of these steps, or sleeps there while the other archive goes on. */
function strikesAt(steps: readonly [Point, When][]) {
	return steps.flatMap(([point, when]) => [
		(random: Random) => kill("self", at(point, when, random), random),
		...(when === "during" || when === "between"
			? []
			: [(random: Random) => sleep(at(point, when, random), random)]),
	]);
}

function at(point: Point, when: When, random: Random): PointMoment {
	return { point, when, nth: upTo(mostTimes(point), random) };
}

/** How often a step is certainly reached; at least two dates are compacted. */
function mostTimes(point: Point): number {
	if (point === "publish") return 40;
	const points: readonly Point[] = compactionPoints;
	return points.includes(point) ? 2 : 3;
}

function anywhere(random: Random): Moment {
	return { acknowledged: upTo(100, random) };
}

/** Mostly short. */
function duration(mostMs: number, random: Random): number {
	return Math.floor(random() ** 2 * mostMs);
}

/** 1 to `most`. */
function upTo(most: number, random: Random): number {
	return 1 + Math.floor(random() * most);
}

function pick<T>(list: readonly T[], random: Random): T {
	return list[Math.floor(random() * list.length)]!;
}
