import {
	type CompactionRecord,
	hasOutlivedReaders,
	supersededNames,
} from "../../../ingest/lake/compaction/record.ts";
import {
	sameEvents,
	type VisibleObjects,
	visibleObjects,
} from "../../../ingest/lake/objects/replacements.ts";
import { isOutput, outputName } from "../../../ingest/wire/object-name.ts";
import {
	type DateWorld,
	type ModelCompactor,
	type ModelReader,
	tickMs,
} from "./compaction-world.ts";

/** What a mutation can change. */
export interface CompactionRules {
	visibleObjects: typeof visibleObjects;
	sameEvents: typeof sameEvents;
	supersededNames: typeof supersededNames;
	hasOutlivedReaders: typeof hasOutlivedReaders;
	/** Reads the date's record. */
	recordOf(world: DateWorld): CompactionRecord | undefined;
	/** An existing record is kept (`If-None-Match: *`). */
	isRecordKept: boolean;
	hasRandomNames: boolean;
	/** A reader of the lake asks for the record before it lists. */
	isRecordReadFirst: boolean;
}

export const compactionRules: CompactionRules = {
	visibleObjects,
	sameEvents,
	supersededNames,
	hasOutlivedReaders,
	recordOf: ({ record }) => record?.record,
	isRecordKept: true,
	hasRandomNames: false,
	isRecordReadFirst: true,
};

/** A step of date-compaction.ts and compactor.ts; none when there is nothing to do. `size` is how many objects become one. */
export function compactorStep(
	world: DateWorld,
	compactor: ModelCompactor,
	size: number,
	rules: CompactionRules,
): [DateWorld, ModelCompactor] | undefined {
	const { objects } = world;
	if (compactor.at === "done") return undefined;
	if (compactor.at === "look")
		return rules.recordOf(world)
			? [world, { ...compactor, at: "done" }]
			: [
					world,
					{ ...compactor, at: "read", known: [...world.ledger], written: [] },
				];
	const { known = [], written = [] } = compactor;
	const groups: string[][] = [];
	for (let at = 0; at < known.length; at += size)
		if (known.length - at > 1) groups.push(known.slice(at, at + size));
	const inputs = groups[written.length];
	const nameOf = (group: string[]) =>
		outputName(group) + (rules.hasRandomNames ? compactor.life : "");
	if (compactor.at === "record") {
		const record: CompactionRecord = {
			version: 1,
			account: "shop",
			sourceKey: "5a",
			date: "2026-03-01",
			outputs: written.map((group) => ({
				name: nameOf(group),
				rows: group.length,
				bytes: 0,
				sha256: "",
				inputs: group,
			})),
		};
		const stands = world.record !== undefined && rules.isRecordKept;
		return [
			stands ? world : { ...world, record: { tick: world.tick, record } },
			{ at: "done", life: compactor.life },
		];
	}
	const name = nameOf(inputs!);
	const done = [...written, inputs!];
	const next: ModelCompactor = {
		...compactor,
		at: done.length < groups.length ? "read" : "record",
		written: done,
	};
	switch (compactor.at) {
		case "read":
			// A missing object ends it; it looks again.
			if (!inputs!.every((input) => input in objects))
				return [world, { at: "look", life: compactor.life }];
			return [world, { ...compactor, at: "write" }];
		case "write":
			// The inputs are on its disk. If-None-Match: *
			return name in objects
				? [world, { ...compactor, at: "verify" }]
				: [
						{ ...world, objects: { ...objects, [name]: inputs!.join("") } },
						next,
					];
		case "verify":
			return [
				world,
				name in objects ? next : { at: "look", life: compactor.life },
			];
	}
}

/** A step of what removes objects that were replaced: one look, then one object after the other. */
export function sweeperStep(
	world: DateWorld,
	rules: CompactionRules,
): DateWorld | undefined {
	const { sweeper, record, objects } = world;
	if (sweeper.names) {
		const [name, ...names] = sweeper.names;
		const { [name!]: _, ...rest } = objects;
		const after = names.length > 0 ? { names } : {};
		return { ...world, objects: rest, sweeper: after };
	}
	if (!record) return undefined;
	const nowMs = world.tick * tickMs;
	const clocks = { nowMs, storeNowMs: nowMs };
	if (!rules.hasOutlivedReaders(record.tick * tickMs, clocks)) return undefined;
	const names = rules.supersededNames(Object.keys(objects), record.record);
	return names.length > 0 ? { ...world, sweeper: { names } } : undefined;
}

/** A step of manifest-objects.ts and of a Run's load, or of a reader of the lake. */
export function readerStep(
	world: DateWorld,
	reader: ModelReader,
	rules: CompactionRules,
): [DateWorld, ModelReader] | undefined {
	switch (reader.at) {
		case "begin": {
			const since = world.tick;
			const expected = world.ledger.join("");
			const before: ModelReader = { ...reader, at: "choose", since, expected };
			if (!rules.isRecordReadFirst)
				return [world, { ...before, listed: Object.keys(world.objects) }];
			const record = rules.recordOf(world);
			return [world, { ...before, ...(record && { record }) }];
		}
		case "choose":
			return reader.kind === "Run"
				? makeManifest(world, reader, rules)
				: chooseObjects(world, reader, rules);
		case "load":
			return load(world, reader);
		case "done":
			return undefined;
	}
}

function makeManifest(
	world: DateWorld,
	reader: ModelReader,
	rules: CompactionRules,
): [DateWorld, ModelReader] {
	const { record, ...rest } = reader;
	const names = namesOf(
		rules.visibleObjects(world.ledger, (name) => name, record),
	);
	const isThere = names.every((name) => name in world.objects);
	if (!isThere)
		return isOver(world, reader)
			? [world, { ...rest, at: "done" }]
			: [{ ...world, fault: "a manifest misses an object" }, reader];
	const expected = world.ledger.join("");
	return [
		world,
		{ ...rest, at: "load", expected, manifest: names, names, found: "" },
	];
}

function chooseObjects(
	world: DateWorld,
	{ listed, record: first, ...reader }: ModelReader,
	rules: CompactionRules,
): [DateWorld, ModelReader] {
	if (isOver(world, reader)) return [world, { ...reader, at: "done" }];
	const record = listed ? rules.recordOf(world) : first;
	const names = listed ?? Object.keys(world.objects);
	const { originals, outputs } = rules.visibleObjects(
		names.filter((name) => !isOutput(name)),
		(name) => name,
		record,
	);
	const wanted = namesOf({ originals, outputs });
	const counted = wanted.filter((name) => names.includes(name));
	return [world, { ...reader, at: "load", names: counted, found: "" }];
}

function load(world: DateWorld, reader: ModelReader): [DateWorld, ModelReader] {
	const [name, ...names] = reader.names!;
	if (name === undefined) return finish(world, reader);
	const events = world.objects[name];
	if (events !== undefined)
		return [world, { ...reader, names, found: reader.found + events }];
	return isOver(world, reader)
		? [world, { ...reader, at: "done" }]
		: [{ ...world, fault: `a ${reader.kind} misses ${name}` }, reader];
}

/** A Run's links run out, and it starts again with new ones to the same events. */
export function renew(
	world: DateWorld,
	reader: ModelReader,
	rules: CompactionRules,
): [DateWorld, ModelReader] {
	const renewals = reader.renewals - 1;
	const record = rules.recordOf(world);
	const same = rules.sameEvents(reader.manifest!, (name) => name, record);
	if (!same) return [world, { ...reader, renewals, at: "done" }];
	const names = namesOf(same);
	const since = world.tick;
	return [
		world,
		{ ...reader, renewals, since, manifest: names, names, found: "" },
	];
}

function finish(
	world: DateWorld,
	reader: ModelReader,
): [DateWorld, ModelReader] {
	const { kind, found = "", expected = "" } = reader;
	const done: ModelReader = { kind, renewals: 0, at: "done" };
	for (const event of new Set(found + expected)) {
		const count = found.split(event).length - 1;
		if (count === 1 && expected.includes(event)) continue;
		// A reader of the lake may find what came since it began.
		if (count === 1 && kind === "lake") continue;
		if (count === 0 && world.isExpired) continue;
		const fault = `a ${kind} finds event ${event} ${count} times`;
		return [{ ...world, fault }, reader];
	}
	return [world, done];
}

function namesOf({ originals, outputs }: VisibleObjects<string>): string[] {
	return [...outputs.map(({ name }) => name), ...originals];
}

/** Its links have expired, its time is over, or the date is no longer retained. */
function isOver(world: DateWorld, { since }: ModelReader): boolean {
	return world.isExpired || world.tick - since! >= 2;
}
