import { claimMs, reactionTo } from "../../../ingest/wire/idempotency-entry.ts";
import type { Search } from "../cut/exhaustive-search.ts";
import { inOneOrder } from "../cut/one-order.ts";
import {
	archiverSteps,
	lookAt,
	type Protocol,
	protocol,
	receiverSteps,
} from "./steps.ts";
import type { ModelFrame, World } from "./world.ts";

export interface Scenario {
	receivers: number;
	archivers: number;
	/** Each is one request with the key, to any receiver at any moment. */
	requests: number;
	/** Events without the key, in frames of their own, at any moment. */
	others: number;
	/** How often any process dies, at any moment. */
	crashes: number;
	/** How often the key expires, at any moment. */
	expiries: number;
	/** A publish comes after the claim's deadline, too: its process or its network slept. */
	isLate: boolean;
	/** Deviations from the protocol. */
	mutation?: Partial<Protocol>;
}

/** Every way in which a scenario can go, for {@link file://../cut/exhaustive-search.ts searchAll}. */
export function everyWayOf(scenario: Scenario): Search<World> {
	const rules = { ...protocol, ...scenario.mutation };
	return {
		start: {
			nowMs: 0,
			lastRevision: 0,
			onTheWay: [],
			stream: [],
			cuts: [],
			objectsDone: 0,
			receivers: Array.from({ length: scenario.receivers }, () => ({
				at: "idle",
			})),
			archivers: Array.from({ length: scenario.archivers }, () => ({
				at: "read",
			})),
			told: [],
			events: 0,
			frames: 0,
			requestsLeft: scenario.requests,
			othersLeft: scenario.others,
			crashesLeft: scenario.crashes,
			expiriesLeft: scenario.expiries,
			expiries: 0,
		},
		next: (world) => [
			...processSteps(world, rules),
			...frameSteps(world),
			...otherSteps(world),
			...timeSteps(world, scenario.isLate),
		],
		isOptional: (name) =>
			/^(request|other|crash|lose|refuse|expire|deadlines)/.test(name),
		fault: faultOf,
	};
}

function processSteps(world: World, rules: Protocol) {
	const { crashesLeft } = world;
	const crashed = { crashesLeft: crashesLeft - 1 };
	const steps: { name: string; state: World }[] = [];
	for (const [index, receiver] of world.receivers.entries()) {
		const become = (after: typeof receiver, change: Partial<World> = {}) => ({
			...world,
			...change,
			receivers: inOneOrder(world.receivers.with(index, after)),
		});
		const name = receiver.at === "idle" ? "request" : receiver.at;
		for (const [after, change] of receiverSteps(world, receiver, rules))
			steps.push({
				name: `${name} (receiver ${index})`,
				state: become(after, change),
			});
		if (crashesLeft > 0 && receiver.at !== "idle")
			steps.push({
				name: `crash (receiver ${index})`,
				state: become({ at: "idle" }, crashed),
			});
	}
	for (const [index, archiver] of world.archivers.entries()) {
		const become = (after: typeof archiver, change: Partial<World> = {}) => ({
			...world,
			...change,
			archivers: inOneOrder(world.archivers.with(index, after)),
		});
		for (const [after, change] of archiverSteps(world, archiver, rules))
			steps.push({
				name: `${archiver.at} (archiver ${index})`,
				state: become(after, change),
			});
		if (crashesLeft > 0 && archiver.at !== "read")
			steps.push({
				name: `crash (archiver ${index})`,
				state: become({ at: "read" }, crashed),
			});
	}
	return steps;
}

/** What becomes of frames on their way. */
function frameSteps(world: World) {
	return world.onTheWay.flatMap((frame) => {
		const onTheWay = world.onTheWay.filter((other) => other !== frame);
		const receiver = world.receivers.findIndex(
			(it) => it.at === "await" && it.frame.frame === frame.frame,
		);
		const awaiting = world.receivers[receiver];
		const steps: { name: string; state: World }[] = [
			{
				name: `store ${frame.frame}`,
				state: { ...world, onTheWay, ...stored(world, frame) },
			},
			{ name: `lose ${frame.frame}`, state: { ...world, onTheWay } },
		];
		if (awaiting?.at === "await") {
			const { claim } = awaiting;
			const { entry, revision } = claim;
			const receivers = inOneOrder(
				world.receivers.with(receiver, {
					at: "settle",
					claim,
					kept: { entry, revision: revision! },
				}),
			);
			steps.push({
				name: `refuse ${frame.frame}`,
				state: { ...world, onTheWay, receivers },
			});
		}
		return steps;
	});
}

const other = "other";

/** What other senders send. */
function otherSteps(world: World) {
	if (world.othersLeft === 0) return [];
	const othersLeft = world.othersLeft - 1;
	const frame = { event: other, frame: `${other}${othersLeft}` };
	const state = { ...world, othersLeft, ...stored(world, frame) };
	return [{ name: "other event", state }];
}

function stored({ stream, nowMs }: World, frame: ModelFrame): Partial<World> {
	return { stream: [...stream, { ...frame, atMs: nowMs }] };
}

function timeSteps(world: World, isLate: boolean) {
	const steps: { name: string; state: World }[] = [];
	const mayPublish =
		world.onTheWay.length > 0 ||
		world.receivers.some(({ at }) => at === "publish");
	if (world.kept?.entry.state === "claimed" && (isLate || !mayPublish)) {
		const { deadlineMs } = world.kept.entry;
		if (world.nowMs <= deadlineMs)
			steps.push({
				name: "deadlines pass",
				state: { ...world, nowMs: world.nowMs + claimMs + 1 },
			});
	}
	if (world.kept && world.expiriesLeft > 0) {
		const { kept: _, ...rest } = world;
		const { expiries, expiriesLeft } = world;
		steps.push({
			name: "expire",
			state: {
				...rest,
				expiries: expiries + 1,
				expiriesLeft: expiriesLeft - 1,
			},
		});
	}
	return steps;
}

/** Never told that an event is stored which isn't, never two rows in a window, and never waiting for nothing. */
function faultOf(world: World, isAtRest: boolean): string | undefined {
	const { stream, cuts, told, kept, expiries } = world;
	const dropped = new Set(cuts.flatMap(({ copies }) => copies));
	const isKept = (sequence: number) => !dropped.has(sequence);
	const rows = stream
		.slice(0, cuts.at(-1)?.last ?? 0)
		.filter(({ event }, index) => event !== other && isKept(index + 1))
		.map(({ event }) => event);
	if (new Set(rows).size < rows.length)
		return `an event has two rows: ${rows.join(" ")}`;
	if (rows.length > 1 + expiries)
		return `${rows.length} rows in ${1 + expiries} windows`;
	for (const event of told) {
		const isStored = stream.some(
			(frame, index) => frame.event === event && isKept(index + 1),
		);
		if (!isStored) return `${event} was told to be stored, and isn't`;
	}
	if (!isAtRest || !kept) return undefined;
	const { objectsDone } = world;
	const progress = { ...lookAt(world), nowMs: Infinity, objectsDone };
	return reactionTo(kept.entry, progress) === "wait"
		? "repeats wait for ever"
		: undefined;
}
