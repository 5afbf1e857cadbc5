import { isOutput } from "../../../ingest/wire/object-name.ts";
import {
	type CompactionRules,
	compactionRules,
	compactorStep,
	readerStep,
	renew,
	sweeperStep,
} from "./compaction-steps.ts";
import {
	type DateWorld,
	type ModelReader,
	type Turn,
	tickMs,
} from "./compaction-world.ts";
import type { Search } from "./exhaustive-search.ts";

export interface CompactionScenario {
	/** How many objects there are at the beginning. */
	originals: number;
	/** Of each compactor, how many objects it makes one of: others differ in their version or settings. */
	compactors: number[];
	readers: Pick<ModelReader, "kind" | "renewals">[];
	/** How often any of the compactors dies, at any moment. */
	crashes: number;
	/** What happens once, at any moment. */
	turns: Turn[];
	/** How often {@link tickMs} goes by. */
	ticks: number;
	/** Deviations from the rules. */
	mutation?: Partial<CompactionRules>;
}

/**
 * Every way in which a date can be compacted and read, for {@link file://./exhaustive-search.ts searchAll}. Everybody
 * may wait before each step for as long as there is time, so each is a zombie as well.
 */
export function everyCompactionOf(
	scenario: CompactionScenario,
): Search<DateWorld> {
	const rules = { ...compactionRules, ...scenario.mutation };
	const letters = [..."abcdef"].slice(0, scenario.originals);
	return {
		start: {
			tick: 0,
			ledger: letters,
			objects: Object.fromEntries(letters.map((name) => [name, name])),
			compactors: scenario.compactors.map(() => ({ at: "look", life: 0 })),
			sweeper: {},
			readers: scenario.readers.map((reader) => ({ ...reader, at: "begin" })),
			crashesLeft: scenario.crashes,
			turnsLeft: scenario.turns,
			isExpired: false,
		},
		next: (world) => {
			if (world.fault !== undefined) return [];
			return [
				...compact(world, scenario, rules),
				...sweep(world, rules),
				...read(world, rules),
				...world.turnsLeft.map((turn) => ({
					name: turn,
					state: take(turn, world),
				})),
				...(world.tick < scenario.ticks
					? [{ name: "tick", state: { ...world, tick: world.tick + 1 } }]
					: []),
			];
		},
		isOptional: (name) => /^(crash|renew|late|rewrite|expire)/.test(name),
		fault: (world, isAtRest) => faultOf(world, scenario, isAtRest),
	};
}

type Steps = ReturnType<Search<DateWorld>["next"]>;

function compact(
	world: DateWorld,
	{ compactors }: CompactionScenario,
	rules: CompactionRules,
): Steps {
	return world.compactors.flatMap((compactor, index) => {
		const step = compactorStep(world, compactor, compactors[index]!, rules);
		const steps: Steps = [];
		const set = (after: DateWorld, to: typeof compactor): DateWorld => ({
			...after,
			compactors: after.compactors.with(index, to),
		});
		if (step)
			steps.push({
				name: `${compactor.at} (compactor ${index})`,
				state: set(...step),
			});
		if (step && world.crashesLeft > 0 && compactor.at !== "look") {
			const life = compactor.life + (rules.hasRandomNames ? 1 : 0);
			const crashesLeft = world.crashesLeft - 1;
			steps.push({
				name: `crash (compactor ${index})`,
				state: set({ ...world, crashesLeft }, { at: "look", life }),
			});
		}
		return steps;
	});
}

function sweep(world: DateWorld, rules: CompactionRules): Steps {
	const state = sweeperStep(world, rules);
	return state ? [{ name: "sweep", state }] : [];
}

function read(world: DateWorld, rules: CompactionRules): Steps {
	return world.readers.flatMap((reader, index) => {
		const steps: Steps = [];
		const add = (name: string, [after, to]: [DateWorld, ModelReader]) =>
			steps.push({
				name: `${name} (${reader.kind})`,
				state: { ...after, readers: after.readers.with(index, to) },
			});
		const step = readerStep(world, reader, rules);
		if (step) add(reader.at, step);
		if (reader.at === "load" && reader.renewals > 0)
			add("renew", renew(world, reader, rules));
		return steps;
	});
}

function take(turn: Turn, world: DateWorld): DateWorld {
	const turnsLeft = world.turnsLeft.filter((each) => each !== turn);
	const { objects, ledger } = world;
	switch (turn) {
		case "late":
			return {
				...world,
				turnsLeft,
				ledger: [...ledger, "z"],
				objects: { ...objects, z: "z" },
			};
		case "rewrite":
			return { ...world, turnsLeft, objects: { ...objects, a: "a" } };
		case "expire":
			return { ...world, turnsLeft, objects: {}, isExpired: true };
	}
}

function faultOf(
	world: DateWorld,
	scenario: CompactionScenario,
	isAtRest: boolean,
): string | undefined {
	if (world.fault !== undefined) return world.fault;
	const names = Object.keys(world.objects);
	const outputs = names.filter(isOutput);
	const { compactors, turns } = scenario;
	// Alike, they make the same outputs of the same objects.
	if (new Set(compactors).size === 1 && !turns.includes("late")) {
		const events = outputs.map((name) => world.objects[name]).join("");
		for (const event of events)
			if (events.split(event).length > 2)
				return `event ${event} takes the space of two outputs`;
	}
	if (!isAtRest || world.isExpired) return undefined;
	if (!world.record) return "the date isn't compacted in the end";
	if (world.tick - world.record.tick < 2) return undefined;
	const stored = names.map((name) => world.objects[name]).join("");
	for (const event of world.ledger)
		if (stored.split(event).length !== 2)
			return `event ${event} is stored ${stored.split(event).length - 1} times in the end`;
	return undefined;
}
