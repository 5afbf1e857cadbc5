import { Alarm } from "../../ingest/archive/alarm.ts";
import {
	ArchiverSteps,
	beginAnew,
	type Change,
	type Protocol,
	protocol,
} from "./archiver.ts";
import type { Search } from "./exhaustive-search.ts";
import type { ModelArchiver, ModelFrame, ScriptFrame, World } from "./world.ts";

/** What happens to the stream, once, at any moment. */
export type StreamFault = "none" | "restored from an old copy" | "recreated";

export interface Scenario {
	/** What receive sends, in this order, at any moments. */
	script: ScriptFrame[];
	archivers: number;
	/** How often any of the archivers dies, at any moment. */
	crashes: number;
	streamFault: StreamFault;
	/** Deviations from archive's protocol. */
	mutation?: Partial<Protocol>;
}

/**
 * Every way in which a scenario can go, for {@link file://./exhaustive-search.ts searchAll}. An archiver may wait
 * before each of its steps for as long as it likes, so each is a zombie as well.
 */
export function everyWayOf(scenario: Scenario): Search<World> {
	const { script, streamFault } = scenario;
	const steps = new ArchiverSteps(script, {
		...protocol,
		...scenario.mutation,
	});
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
			faultsLeft: streamFault === "none" ? 0 : 1,
			lost: "",
			alarms: [],
		},
		next: (world) => [
			...publish(world, script),
			...(world.faultsLeft > 0 ? faults(world, script, streamFault) : []),
			...world.archivers.flatMap((archiver, index) => [
				...act(world, archiver, steps).map((change) => ({
					name: `${archiver.at} (archiver ${index})`,
					state: withChange(world, index, change),
				})),
				...crash(world, archiver).map((change) => ({
					name: `crash (archiver ${index})`,
					state: withChange(world, index, change),
				})),
			]),
		],
		isOptional: (name) => /^(crash|copy|restore|recreate)/.test(name),
		fault: (world, isAtRest) => faultOf(world, script, streamFault, isAtRest),
	};
}

/** Each event in exactly one object, or an alarm; and at no moment an event that is nowhere. */
function faultOf(
	world: World,
	script: ScriptFrame[],
	streamFault: StreamFault,
	isAtRest: boolean,
): string | undefined {
	const archived = Object.values(world.objects).join("");
	const inStream = eventsOf(world.stream.frames, script);
	const published = script
		.slice(0, world.published)
		.map(({ events }) => events)
		.join("");
	for (const event of new Set(published)) {
		const count = archived.split(event).length - 1;
		if (count > 1) return `event ${event} is in ${count} objects`;
		if (count === 1 || world.lost.includes(event)) continue;
		if (!inStream.includes(event)) return `event ${event} is nowhere`;
		if (isAtRest && world.alarms.length === 0)
			return `event ${event} stays in the stream without an alarm`;
	}
	if (streamFault === "none" && world.alarms.length > 0)
		return `alarm ${world.alarms} about nothing`;
	return undefined;
}

function publish(world: World, script: ScriptFrame[]) {
	const { published, stream } = world;
	if (published === script.length) return [];
	const frame: ModelFrame = [published, published * 1000];
	const state: World = {
		...world,
		published: published + 1,
		stream: { ...stream, frames: [...stream.frames, frame] },
	};
	return [{ name: "publish", state }];
}

function faults(world: World, script: ScriptFrame[], streamFault: StreamFault) {
	const { stream, copy, archivers } = world;
	const goneWith = (kept: readonly ModelFrame[]) =>
		eventsOf(
			stream.frames.filter(
				([frame]) => !kept.some(([other]) => other === frame),
			),
			script,
		);
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
		archivers: archivers.map((archiver) =>
			archiver.frames ? { ...archiver, isReaderGone: true } : archiver,
		),
	};
	return [{ name: "restore", state }];
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
): World {
	return {
		...world,
		...change,
		archivers: world.archivers.with(index, archiver),
	};
}

function eventsOf(
	frames: readonly ModelFrame[],
	script: ScriptFrame[],
): string {
	return frames.map(([frame]) => script[frame]!.events).join("");
}
