import { addDays } from "../../packages/contracts/utc-date.ts";
import type { Pipeline, Source, SourceDays } from "../generated/types.ts";

/** How much comes to a Source: in a minute, and on each date. */

type CountedSource = Pick<
	Source,
	"id" | "counts" | "archivedThrough" | "lastEventTime"
>;

interface RateSample {
	accepted: number;
	/** Everything accepted before this instant is counted. */
	throughMs: number;
}

/** What a Source's last two different counts were. */
export interface RateSamples {
	before?: RateSample;
	now: RateSample;
}

/** Archive counts what it stores, every minute at the latest. A Source whose last event is older than that by far gets none. */
const quietAfterMs = 180_000;

/** The samples with what the Source says now; the same if it says nothing new. */
export function afterSample(
	samples: RateSamples | undefined,
	{ counts, archivedThrough }: CountedSource,
): RateSamples | undefined {
	if (archivedThrough === undefined) return samples;
	const now = {
		accepted: counts?.accepted ?? 0,
		throughMs: Date.parse(archivedThrough),
	};
	if (!samples) return { now };
	if (now.throughMs <= samples.now.throughMs) return samples;
	return { before: samples.now, now };
}

/** Undefined until two counts are known, and when a date has just left the counts. */
export function eventsPerMinute(
	samples: RateSamples | undefined,
	{ lastEventTime }: CountedSource,
	nowMs: number,
): number | undefined {
	const lastMs = Date.parse(lastEventTime ?? "");
	if (!(nowMs - lastMs < quietAfterMs)) return 0;
	if (!samples?.before) return undefined;
	const { before, now } = samples;
	const came = now.accepted - before.accepted;
	return came < 0
		? undefined
		: (came * 60_000) / (now.throughMs - before.throughMs);
}

/** By the Source's `id`, for as long as the tab is open. */
const known = new Map<string, RateSamples>();

/** {@link eventsPerMinute} by what this tab has seen of the Source. */
export function currentRate(
	source: CountedSource,
	nowMs: number,
): number | undefined {
	const samples = afterSample(known.get(source.id), source);
	if (samples) known.set(source.id, samples);
	return eventsPerMinute(samples, source, nowMs);
}

export type SourceDay = SourceDays["items"][number];

/** The weeks of the dates, from Monday; undefined for a date of these weeks that isn't among them. */
export function weeksOf(
	days: readonly SourceDay[],
): { date: string; day: SourceDay | undefined }[][] {
	const byDate = new Map(days.map((day) => [day.date, day]));
	const dates = [...byDate.keys()].sort();
	const [first, last] = [dates[0], dates.at(-1)];
	if (first === undefined || last === undefined) return [];
	const weekday = (new Date(first).getUTCDay() + 6) % 7;
	const weeks = [];
	for (
		let monday = addDays(first, -weekday);
		monday <= last;
		monday = addDays(monday, 7)
	)
		weeks.push(
			Array.from({ length: 7 }, (_, at) => {
				const date = addDays(monday, at);
				return { date, day: byDate.get(date) };
			}),
		);
	return weeks;
}

/** Whether the tables have what came on the date: the least of them. Undefined if no Pipeline takes the date, or nothing came. */
export function loadedState({
	stored,
	imported,
	loads,
}: SourceDay): "Loaded" | "Waiting" | undefined {
	return stored + imported === 0 ? undefined : stateOfLoads(loads);
}

/** The least of what Pipelines did with an event or a date. Undefined if none takes it. */
export function stateOfLoads(
	loads: readonly { state: string }[] = [],
): "Loaded" | "Waiting" | undefined {
	const taken = loads.filter(({ state }) => state !== "Excluded");
	if (taken.length === 0) return undefined;
	return taken.every(({ state }) => state === "Loaded") ? "Loaded" : "Waiting";
}

/** Changes when one of the Source's events may have been stored or loaded since. */
export function progressOf(
	{ name, archivedThrough = "" }: Pick<Source, "name" | "archivedThrough">,
	pipelines: Iterable<
		Pick<Pipeline, "name" | "sourceRef" | "lastRun" | "lastSuccess">
	>,
): string {
	const loads = [...pipelines]
		.filter(({ sourceRef }) => sourceRef.name === name)
		.map(
			({ name: pipeline, lastRun, lastSuccess }) =>
				`${pipeline} ${lastRun?.name} ${lastSuccess?.snapshotTime} ${lastSuccess?.reloads?.at(-1)}`,
		);
	return [archivedThrough, ...loads.sort()].join("\n");
}

/** Each read of the days, the list and the open event is four requests, and a tab makes ten in a minute at most. */
export const readsAMinute = 2;

/**
 * How long the next read has to wait.
 * @param readsMs when the last ones were, the oldest first
 */
export function waitBeforeReadMs(
	readsMs: readonly number[],
	nowMs: number,
): number {
	const oldest = readsMs.at(-readsAMinute);
	return oldest === undefined ? 0 : Math.max(0, oldest + 60_000 - nowMs);
}
