import { Alarm } from "../../../ingest/archive/decide/alarm.ts";
import type { Loss } from "../../../ingest/archive/decide/loss.ts";
import { ArchiverSteps, beginAnew, type Change } from "./archiver.ts";
import { deletionFault, deletionSteps, isOfDeleted } from "./deletion.ts";
import type { Search } from "./exhaustive-search.ts";
import { inOneOrder } from "./one-order.ts";
import { type Protocol, protocol } from "./protocol.ts";
import {
	isQuarantined,
	type ModelArchiver,
	type ModelFrame,
	type ModelStream,
	type ScriptFrame,
	type World,
} from "./world.ts";

/** What happens to the stream, once, at any moment. */
export type StreamFault =
	| "none"
	| "restored from an old copy"
	| "recreated"
	/** Somebody purges its first frame, archived or not, while no cut is under way: the decision's page says why. */
	| "purged"
	/** NATS loses any of its frames, archived or not, under the same condition. */
	| "damaged"
	/** NATS loses its last frame, archived or not, where the script says that it may. */
	| "forgetful";

export interface Scenario {
	/** What receive sends, in this order, at any moments. */
	script: ScriptFrame[];
	archivers: number;
	/** How often any of the archivers dies, at any moment. */
	crashes: number;
	streamFault: StreamFault;
	/** How often the stream's fault happens; once by default. */
	faults?: number;
	/** Source B is deleted at any moment. */
	isDeleted?: boolean;
	/** Deviations from archive's protocol. */
	mutation?: Partial<Protocol>;
}

/**
 * Every way in which a scenario can go, for {@link file://./exhaustive-search.ts searchAll}. An archiver may wait
 * before each of its steps for as long as it likes, so each is a zombie as well.
 */
export function everyWayOf(scenario: Scenario): Search<World> {
	const { script, streamFault } = scenario;
	const rules = { ...protocol, ...scenario.mutation };
	const steps = new ArchiverSteps(script, rules);
	// Objects with random names tell of their archiver.
	const order = rules.hasRandomNames ? asTheyAre : inOneOrder;
	return {
		start: {
			stream: { name: "s0", first: 1, frames: [] },
			published: 0,
			objectsDone: {},
			cuts: {},
			objects: {},
			archivers: Array.from({ length: scenario.archivers }, () => ({
				at: "open",
			})),
			crashesLeft: scenario.crashes,
			faultsLeft: streamFault === "none" ? 0 : (scenario.faults ?? 1),
			lost: "",
			alarms: [],
			...(scenario.isDeleted && { deletion: { at: "wanted" } }),
			gone: "",
		},
		next: (world) => [
			...publish(world, script),
			...(world.faultsLeft > 0 ? faults(world, script, streamFault) : []),
			...deletionSteps(world, script, rules),
			...world.archivers.flatMap((archiver, index) => [
				...act(world, archiver, steps).map((change) => ({
					name: `${archiver.at} (archiver ${index})`,
					state: withChange(world, index, change, order),
				})),
				...crash(world, archiver).map((change) => ({
					name: `crash (archiver ${index})`,
					state: withChange(world, index, change, order),
				})),
			]),
		],
		isOptional: (name) => /^(crash|copy|restore|recreate|lose)/.test(name),
		fault: (world, isAtRest) =>
			faultOf(world, steps.losses(world), scenario, isAtRest),
	};
}

/**
 * Each event in exactly one object, in quarantine or not as the event is, or an alarm; and at no moment an event that is nowhere, but of a source that is
 * deleted, and those that were taken from the stream. Of these a person is told, by an alarm that stands or a cut that
 * names this very frame. No cut names a frame that wasn't taken.
 */
function faultOf(
	world: World,
	losses: Loss[],
	{ script, streamFault }: Scenario,
	isAtRest: boolean,
): string | undefined {
	const named = losses.flatMap((loss) => eventsIn(loss, script));
	const archived = Object.values(world.objects).join("");
	const inStream = eventsOf(world.stream.frames, script);
	const published = script
		.slice(0, world.published)
		.map(({ events }) => events)
		.join("");
	for (const [key, events] of Object.entries(world.objects))
		for (const event of events)
			if (isQuarantined(event) !== /(^|\/)quarantine\//.test(key))
				return `event ${event} is in ${key}`;
	for (const event of new Set(published)) {
		const count = archived.split(event).length - 1;
		if (count > 1) return `event ${event} is in ${count} objects`;
		if (named.includes(event) && !(world.gone + world.lost).includes(event))
			return `event ${event} is given up, but isn't gone`;
		if (named.filter((other) => other === event).length > 1)
			return `event ${event} is counted as lost twice`;
		if (count === 1 || world.lost.includes(event)) continue;
		if (isDeletionOn(world) && isOfDeleted(event)) continue;
		if (world.gone.includes(event) && !isAtRest) continue;
		if (world.gone.includes(event)) {
			const isStopped = world.archivers.some(({ at }) => at === "stopped");
			if (!isStopped && !named.includes(event))
				return `event ${event} is lost and nobody was told`;
			continue;
		}
		if (!inStream.includes(event)) return `event ${event} is nowhere`;
		if (isAtRest && !world.archivers.some(({ at }) => at === "stopped"))
			return `event ${event} stays in the stream without an alarm`;
	}
	if (streamFault === "none" && world.alarms.length > 0)
		return `alarm ${world.alarms} about nothing`;
	return deletionFault(world, isAtRest);
}

function isDeletionOn({ deletion }: World): boolean {
	return deletion !== undefined && deletion.at !== "wanted";
}

/** Sequences are numbers here: each frame of a script with losses is sent once. */
function eventsIn({ from, to }: Loss, script: ScriptFrame[]): string[] {
	return script
		.filter(({ number }) => from <= number && number <= to)
		.flatMap(({ events }) => [...events]);
}

function publish(world: World, script: ScriptFrame[]) {
	const { published, stream } = world;
	if (published === script.length) return [];
	const frame: ModelFrame = [
		published,
		script[published]!.atMs ?? published * 1000,
	];
	const state: World = {
		...world,
		published: published + 1,
		stream: { ...stream, frames: [...stream.frames, frame] },
	};
	return [{ name: "publish", state }];
}

function faults(world: World, script: ScriptFrame[], streamFault: StreamFault) {
	const { stream, copy, archivers } = world;
	const goneWith = (kept: ModelStream["frames"]) =>
		eventsOf(
			stream.frames.filter(
				(frame) => !kept.some((other) => other?.[0] === frame?.[0]),
			),
			script,
		);
	if (streamFault === "damaged")
		return archivers.some(isAtCut)
			? []
			: stream.frames.flatMap((frame, index) =>
					frame ? [damage(world, frame, index, script)] : [],
				);
	if (streamFault === "purged" || streamFault === "forgetful") {
		const frames = [...stream.frames];
		const taken = streamFault === "purged" ? frames.shift() : frames.pop();
		const mayGo =
			streamFault === "purged" || (taken && script[taken[0]]!.mayBeLost);
		if (!taken || !mayGo) return [];
		if (streamFault === "purged" && archivers.some(isAtCut)) return [];
		const first = streamFault === "purged" ? stream.first + 1 : stream.first;
		const archived = Object.values(world.objects).join("");
		const events = [...eventsOf([taken], script)];
		const state: World = {
			...world,
			stream: { ...stream, first, frames },
			gone: world.gone + events.filter((e) => !archived.includes(e)).join(""),
			faultsLeft: world.faultsLeft - 1,
			archivers:
				streamFault === "forgetful"
					? readersGone(world)
					: archivers.map((archiver) =>
							archiver.at === "read ahead"
								? beginAnew(archiver).archiver
								: archiver,
						),
		};
		return [{ name: "lose a frame", state }];
	}
	if (streamFault === "recreated") {
		const state: World = {
			...world,
			stream: { name: "s1", first: 1, frames: [] },
			lost: goneWith([]),
			faultsLeft: 0,
			// The decision's page says why nobody may be between reading and deciding then.
			archivers: archivers.map((archiver) =>
				archiver.at === "read ahead" || archiver.at === "decide"
					? beginAnew(archiver).archiver
					: archiver,
			),
		};
		return [{ name: "recreate", state }];
	}
	if (!copy) return [{ name: "copy", state: { ...world, copy: stream } }];
	const state: World = {
		...world,
		stream: copy,
		lost: goneWith(copy.frames),
		faultsLeft: 0,
		archivers: readersGone(world),
	};
	return [{ name: "restore", state }];
}

/** NATS lost this frame from its disk. Archivers keep what they have read. */
function damage(
	world: World,
	frame: ModelFrame,
	index: number,
	script: ScriptFrame[],
) {
	const { stream, objects, gone, faultsLeft } = world;
	const archived = Object.values(objects).join("");
	const events = [...eventsOf([frame], script)];
	const state: World = {
		...world,
		stream: { ...stream, frames: stream.frames.with(index, null) },
		gone: gone + events.filter((e) => !archived.includes(e)).join(""),
		faultsLeft: faultsLeft - 1,
	};
	return { name: `lose frame ${index}`, state };
}

function isAtCut({ at }: ModelArchiver): boolean {
	return (
		at === "decide" ||
		at === "read the cut" ||
		at === "write objects" ||
		at === "publish objects-done" ||
		at === "purge"
	);
}

/** NATS was recreated: archivers keep the frames that they have read, and can't read on. */
function readersGone({ archivers }: World): ModelArchiver[] {
	return archivers.map((archiver) =>
		archiver.frames ? { ...archiver, isReaderGone: true } : archiver,
	);
}

function act(
	world: World,
	archiver: ModelArchiver,
	steps: ArchiverSteps,
): Change[] {
	try {
		return steps.next(world, archiver);
	} catch (error) {
		if (!(error instanceof Alarm)) throw error;
		const alarms = [...new Set([...world.alarms, error.code])].sort();
		return [{ alarms, archiver: { at: "stopped" } }];
	}
}

function crash(world: World, archiver: ModelArchiver): Change[] {
	const { crashesLeft } = world;
	if (crashesLeft === 0 || archiver.at === "open" || archiver.at === "stopped")
		return [];
	return [{ ...beginAnew(archiver), crashesLeft: crashesLeft - 1 }];
}

function withChange(
	world: World,
	index: number,
	{ archiver, ...change }: Change,
	order: typeof inOneOrder,
): World {
	return {
		...world,
		...change,
		archivers: order(world.archivers.with(index, archiver)),
	};
}

function asTheyAre<Value>(values: Value[]): Value[] {
	return values;
}

function eventsOf(
	frames: readonly (ModelFrame | null)[],
	script: ScriptFrame[],
): string {
	return frames
		.map((frame) => (frame ? script[frame[0]]!.events : ""))
		.join("");
}
