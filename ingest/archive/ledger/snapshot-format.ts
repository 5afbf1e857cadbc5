import type { SourceName } from "../../../packages/bucket/object-keys.ts";
import type { Deviations } from "../../../packages/contracts/ledger.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import {
	type ObjectKind,
	objectKinds,
	perKind,
} from "../../wire/object-kinds.ts";
import type { ToldStream, UntoldStream } from "../decide/left-frames.ts";
import { DateObjects, packedRun } from "./date-objects.ts";
import {
	type CutEnds,
	type IndexedSource,
	LedgerIndex,
	nameOfSource,
} from "./ledger-index.ts";

const version = 4;

type DatesOfSource = Pick<IndexedSource, ObjectKind | "deviations">;
type SourceTotals = Omit<IndexedSource, keyof DatesOfSource>;

/** What a snapshot has beside its parts. */
export interface SnapshotRoot {
	version: typeof version;
	streams: [stream: string, ends: CutEnds][];
	days: UtcDate[];
	lostFrames: [UtcDate, number][];
	/** Both are absent when empty, as in the snapshots of earlier versions. */
	missing?: UntoldStream[];
	told?: ToldStream[];
	sources: SourceTotals[];
	/** The keys of each date's parts. */
	dates: [UtcDate, keys: string[]][];
}

/** What some sources have of a date. */
interface DatePart {
	version: typeof version;
	date: UtcDate;
	streams: string[];
	sources: (SourceName &
		Partial<Record<ObjectKind, PackedObjects>> & { deviations?: Deviations })[];
}

interface PackedObjects {
	/** See {@link DateObjects.replaced}. */
	replaced?: number;
	/** `stream` is an index into `streams`. `packed`: see {@link DateObjects.packed}. */
	runs: [stream: number, packed: string][];
}

/** What a source has of a date. It stays as it is, whatever cuts come later, though nothing of it is a copy. */
interface CapturedSource
	extends SourceName,
		Partial<Record<ObjectKind, CapturedObjects>> {
	deviations?: Deviations;
}

interface CapturedObjects {
	replaced?: number;
	runs: [stream: string, run: Uint8Array][];
}

export function captureRoot(index: LedgerIndex): Omit<SnapshotRoot, "dates"> {
	return {
		version,
		streams: [...index.newestOfStream],
		days: [...index.days],
		lostFrames: [...index.lostFrames],
		...(index.missing.length > 0 && { missing: [...index.missing] }),
		...(index.told.length > 0 && { told: [...index.told] }),
		sources: Array.from(index.sources(), ({ deviations: _, ...source }) =>
			withoutKinds(source),
		),
	};
}

/** What the sources have of a date, in parts of about `partBytes`: at least one source in each. */
export function captureDate(
	index: LedgerIndex,
	date: UtcDate,
	partBytes: number,
): CapturedSource[][] {
	const parts: CapturedSource[][] = [];
	let bytes = Infinity;
	for (const source of index.sources()) {
		const captured = captureSource(source, date);
		if (!captured) continue;
		const own = bytesOf(captured);
		if (bytes + own > partBytes) {
			parts.push([]);
			bytes = 0;
		}
		parts.at(-1)!.push(captured);
		bytes += own;
	}
	return parts;
}

function captureSource(
	{ account, sourceKey, ...dates }: IndexedSource,
	date: UtcDate,
): CapturedSource | undefined {
	const objects = mapKinds(
		perKind((kind) => dates[kind].get(date)),
		captureObjects,
	);
	const deviations = dates.deviations.get(date);
	if (Object.keys(objects).length === 0 && !deviations) return undefined;
	return { account, sourceKey, ...objects, ...(deviations && { deviations }) };
}

function captureObjects(objects: DateObjects): CapturedObjects {
	const { replaced } = objects;
	const runs = [...objects.runs()];
	return { ...(replaced !== undefined && { replaced }), runs };
}

/** About: with the names, and the types of deviations. */
function bytesOf(source: CapturedSource): number {
	let bytes = 100 + 150 * (source.deviations?.entries.length ?? 0);
	for (const kind of objectKinds)
		for (const [, run] of source[kind]?.runs ?? []) bytes += run.byteLength;
	return bytes;
}

export function partText(
	date: UtcDate,
	captured: readonly CapturedSource[],
): string {
	const streams = new Map<string, number>();
	const pack = ({ runs, ...replaced }: CapturedObjects): PackedObjects => ({
		...replaced,
		runs: runs.map(([stream, run]) => {
			const number = streams.get(stream) ?? streams.size;
			streams.set(stream, number);
			return [number, packedRun(run)];
		}),
	});
	const sources = captured.map((source) => ({
		...withoutKinds(source),
		...mapKinds(source, pack),
	}));
	const part: DatePart = {
		version,
		date,
		streams: [...streams.keys()],
		sources,
	};
	return JSON.stringify(part);
}

/**
 * Reads a snapshot. Throws if this archive can't.
 * @param readParts Reads the parts with these keys, and calls `add` for each.
 */
export async function readSnapshot(
	text: string,
	readParts: (keys: string[], add: (part: string) => void) => Promise<void>,
): Promise<LedgerIndex> {
	const root: SnapshotRoot = JSON.parse(text);
	if (root.version !== version)
		throw new Error(
			`it has version ${root.version}; this archive reads ${version}`,
		);
	const sources = new Map<string, IndexedSource>();
	for (const totals of root.sources)
		sources.set(nameOfSource(totals), { ...totals, ...noDates() });
	const keys = root.dates.flatMap(([, keys]) => keys);
	await readParts(keys, (part) => addPart(sources, JSON.parse(part)));
	return LedgerIndex.of({
		...root,
		newestOfStream: root.streams,
		sources: sources.values(),
	});
}

function noDates(): DatesOfSource {
	return { ...perKind(() => new Map()), deviations: new Map() };
}

function withoutKinds<Of extends Partial<Record<ObjectKind, unknown>>>({
	...rest
}: Of): Omit<Of, ObjectKind> {
	for (const kind of objectKinds) delete rest[kind];
	return rest;
}

/** Of those kinds that are there. */
function mapKinds<A, B>(
	of: Partial<Record<ObjectKind, A | undefined>>,
	map: (one: A) => B,
): Partial<Record<ObjectKind, B>> {
	const entries = objectKinds.flatMap((kind) => {
		const one = of[kind];
		return one === undefined ? [] : [[kind, map(one)]];
	});
	return Object.fromEntries(entries);
}

function addPart(
	sources: ReadonlyMap<string, IndexedSource>,
	{ date, streams, sources: ofDate }: DatePart,
): void {
	const unpack = ({ runs, replaced }: PackedObjects) =>
		DateObjects.unpacked(
			runs.map(([stream, packed]) => [streams[stream]!, packed]),
			replaced,
		);
	for (const { deviations, ...packed } of ofDate) {
		const source = sources.get(nameOfSource(packed))!;
		for (const kind of objectKinds) {
			const objects = packed[kind];
			if (objects) source[kind].set(date, unpack(objects));
		}
		if (deviations) source.deviations.set(date, deviations);
	}
}
