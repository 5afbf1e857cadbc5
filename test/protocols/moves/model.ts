import type { Search } from "../cut/exhaustive-search.ts";
import { inOneOrder } from "../cut/one-order.ts";
import type { Operator, Receiver, Run, World } from "./world.ts";

/** What a mutation of the protocol can change. */
export interface Protocol {
	/** What an operator does, in order. */
	order: Operator["at"][];
	/** The Source's shards after a move, in NATS. */
	shardsAfter(shards: number[], target: number): number[];
	/** NATS refuses a write of the shards to an entry that has changed since it was read. Whoever wrote it reads again. */
	namesRevision: boolean;
	/** The shards that are asked for a Run. */
	asked(world: World): number[];
	/** The time that a Run's snapshot has, of when it began and of its last flush. */
	snapshotTime(began: World["time"], now: World["time"]): World["time"];
	/** A server of NATS that isn't the leader may answer which shards there are. */
	readsAnyServer: boolean;
	/** Once shard 0 has nothing left to archive, its ledger is handed over, and nobody asks it any more. */
	forgetsDrained: boolean;
}

/** docs/decisions/0026-a-source-keeps-its-former-shards.md */
export const protocol: Protocol = {
	order: ["secret", "read", "shards", "route", "done"],
	// A Source that has never moved has no entry, and its route is that of shard 0.
	shardsAfter: ([...shards], target) => {
		if (shards.length === 0) shards.push(0);
		return shards.includes(target) ? shards : [...shards, target];
	},
	namesRevision: true,
	asked: ({ shards, route }) => (shards.length > 0 ? shards : [route]),
	snapshotTime: (began) => began,
	readsAnyServer: false,
	forgetsDrained: false,
};

export interface Scenario {
	receivers: number;
	/** At any moment, to any receiver. */
	events: number;
	runs: number;
	/** How often the operator that moves the Source dies, and another begins anew. */
	crashes: number;
	/** One that led before still writes what it knew: shard 0. */
	isFormerLeaderAwake: boolean;
	mutation?: Partial<Protocol>;
}

/** Every way in which a scenario can go, for {@link file://../cut/exhaustive-search.ts searchAll}. */
export function everyMoveOf(scenario: Scenario): Search<World> {
	const rules = { ...protocol, ...scenario.mutation };
	const begin = rules.order[0]!;
	const operators: Operator[] = [{ at: begin, target: 1 }];
	if (scenario.isFormerLeaderAwake) operators.push({ at: "read", target: 0 });
	return {
		start: {
			secret: [0],
			shards: [],
			revision: 1,
			earlierShards: [],
			route: 0,
			time: "date",
			operators,
			receivers: Array.from({ length: scenario.receivers }, () => ({
				knows: 0,
			})),
			streams: [[], []],
			handedOver: undefined,
			runs: [],
			table: { events: [], isClosed: false },
			events: 0,
			eventsLeft: scenario.events,
			runsLeft: scenario.runs,
			crashesLeft: scenario.crashes,
		},
		next: (world) =>
			world.wrong === undefined
				? [
						...operatorSteps(world, rules),
						...receiverSteps(world),
						...runSteps(world, rules),
						...otherSteps(world, rules),
					]
				: [],
		isOptional: () => true,
		fault: faultOf,
	};
}

function operatorSteps(world: World, rules: Protocol) {
	const { order } = rules;
	return world.operators.flatMap((operator, index) => {
		const { at, target, read } = operator;
		const become = (
			at: Operator["at"],
			change: Partial<World>,
			read?: Operator["read"],
		) => ({
			...world,
			...change,
			operators: world.operators.with(index, {
				at,
				target,
				...(read && { read }),
			}),
		});
		if (at === "done") return [];
		const next = order[order.indexOf(at) + 1]!;
		const { shards, revision, crashesLeft } = world;
		const after: Record<typeof at, () => World> = {
			secret: () =>
				become(next, { secret: protocol.shardsAfter(world.secret, target) }),
			read: () => become(next, {}, { shards, revision }),
			shards: () =>
				rules.namesRevision && read!.revision !== revision
					? become("read", {})
					: become(next, {
							shards: rules.shardsAfter(read!.shards, target),
							revision: revision + 1,
							earlierShards: shards,
						}),
			route: () => become(next, { route: target }),
		};
		const died = { crashesLeft: crashesLeft - 1 };
		return [
			{ name: `${at} (operator ${index})`, state: after[at]() },
			...(crashesLeft > 0 && target === 1 && at !== order[0]
				? [
						{
							name: `crash (operator ${index})`,
							state: become(order[0]!, died),
						},
					]
				: []),
		];
	});
}

function receiverSteps(world: World) {
	const steps: { name: string; state: World }[] = [];
	for (const [index, receiver] of world.receivers.entries()) {
		const become = (after: Receiver, change: Partial<World> = {}) => ({
			...world,
			...change,
			receivers: inOneOrder(world.receivers.with(index, after)),
		});
		const { knows, sending } = receiver;
		if (knows !== world.route)
			steps.push({
				name: `read the route (receiver ${index})`,
				state: become({ ...receiver, knows: world.route }),
			});
		// A frame that is on its way stays bound to its shard.
		if (sending) {
			const { event, shard } = sending;
			const streams = world.streams.with(
				shard,
				[...world.streams[shard]!, event].sort(),
			);
			steps.push({
				name: `store ${event} in shard ${shard}`,
				state: become({ knows }, { streams }),
			});
		} else if (world.eventsLeft > 0 && world.time === "date") {
			const event = `e${world.events}`;
			steps.push({
				name: `take ${event} (receiver ${index})`,
				state: become(
					{ knows, sending: { event, shard: knows } },
					{ events: world.events + 1, eventsLeft: world.eventsLeft - 1 },
				),
			});
		}
	}
	return steps;
}

function runSteps(world: World, rules: Protocol) {
	const { streams, runs, runsLeft, time, handedOver } = world;
	const steps: { name: string; state: World }[] = [];
	// One at a time, as of one table.
	if (runs.length === 0 && runsLeft > 0) {
		const due = streams.flat().sort();
		const run: Run = { at: "shards", due, left: [], found: [], time };
		const state = { ...world, runs: [run], runsLeft: runsLeft - 1 };
		return [{ name: "a Run begins", state }];
	}
	for (const run of runs) {
		const become = (after: Run) => ({ ...world, runs: [after] });
		if (run.at === "shards") {
			const known = [
				rules.asked(world),
				...(rules.readsAnyServer
					? [rules.asked({ ...world, shards: world.earlierShards })]
					: []),
			];
			for (const left of known)
				steps.push({
					name: `learn of shards ${left}`,
					state: become({ ...run, at: "flush", left }),
				});
		} else if (run.at === "flush") {
			const [shard, ...left] = run.left;
			const carried = shard === 1 ? (handedOver ?? []) : [];
			const own = [...streams[shard!]!, ...carried];
			const found = [...run.found, ...own].sort();
			const at = left.length > 0 ? ("flush" as const) : ("end" as const);
			steps.push({
				name: `flush shard ${shard}`,
				state: become({
					...run,
					at,
					left,
					found,
					time: rules.snapshotTime(run.time, time),
				}),
			});
		} else {
			const isClosed = run.time === "closed";
			const table = world.table.isClosed
				? world.table
				: { events: run.found, isClosed };
			const missing = run.due.find((event) => !run.found.includes(event));
			const isTwice = new Set(run.found).size < run.found.length;
			const wrong =
				missing !== undefined
					? `${missing} was acknowledged before the Run, and isn't in it`
					: isTwice
						? "an event is in a Run twice"
						: undefined;
			const state = { ...world, runs: [], table, ...(wrong && { wrong }) };
			steps.push({ name: "the Run ends", state });
		}
	}
	return steps;
}

function otherSteps(world: World, { forgetsDrained }: Protocol) {
	const steps: { name: string; state: World }[] = [];
	if (world.time === "date")
		steps.push({ name: "midnight", state: { ...world, time: "midnight" } });
	// No frame is published more than a minute after its events, and five have passed.
	const isQuiet = world.receivers.every(({ sending }) => !sending);
	if (world.time === "midnight" && isQuiet)
		steps.push({ name: "five minutes", state: { ...world, time: "closed" } });
	if (forgetsDrained && world.route === 1 && !world.handedOver)
		steps.push({
			name: "shard 0 is drained",
			state: { ...world, shards: [1], handedOver: world.streams[0]! },
		});
	return steps;
}

/** A Run lacks nothing that was acknowledged before it, has nothing twice, and a date that it closed gains nothing. */
function faultOf(world: World): string | undefined {
	if (world.wrong !== undefined) return world.wrong;
	const { events, isClosed } = world.table;
	const late = world.streams.flat().find((event) => !events.includes(event));
	return isClosed && late !== undefined
		? `the date was closed, and the table lacks ${late}`
		: undefined;
}
