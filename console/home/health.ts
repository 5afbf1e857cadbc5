import type { Destination, Pipeline, Run, Source } from "../generated/types.ts";
import { home as words } from "../messages/home.ts";
import { planNameOf } from "../tracking-plans/plan-form.ts";

/** What is wrong on the way from a Source to a table, and where it is mended. */
export interface Finding {
	tone: "bad" | "warning" | "busy";
	text: string;
	/** The address of the next step, and the words that lead there. */
	to: string;
	query?: Record<string, string>;
	action: string;
}

/** A Source with one of the Pipelines that load it. Each lacks where nobody has made it. */
export interface Road {
	source: Source | undefined;
	pipeline: Pipeline | undefined;
	destination: Destination | undefined;
	/** The worst first. */
	findings: Finding[];
}

export interface Account {
	sources: ReadonlyMap<string, Source>;
	pipelines: ReadonlyMap<string, Pipeline>;
	destinations: ReadonlyMap<string, Destination>;
	runs: ReadonlyMap<string, Run>;
}

/** An operator that is busy or restarts begins a Run later than this only if something is wrong. */
const lateAfterMs = 5 * 60_000;

const severity = { bad: 0, warning: 1, busy: 2 };

/**
 * Each Pipeline with its Source and its Destination, and each Source without a Pipeline: those that need somebody first. What a
 * Source needs is said once, at its first Pipeline.
 */
export function roadsOf(account: Account, nowMs: number): Road[] {
	const { sources, destinations } = account;
	const pipelines = [...account.pipelines.values()].sort(byName);
	const said = new Set<string>();
	const loaded = pipelines.map((pipeline): Road => {
		const source = sources.get(pipeline.sourceRef.name);
		const destination = destinations.get(pipeline.destinationRef.name);
		const isFirst = source && !said.has(source.name);
		if (source) said.add(source.name);
		return roadOf({ source, pipeline, destination }, [
			...(isFirst ? ofSource(source) : []),
			...(destination ? ofDestination(destination) : []),
			...ofPipeline(pipeline, account.runs, nowMs),
		]);
	});
	const unloaded = [...sources.values()]
		.filter(({ name }) => !said.has(name))
		.sort(byName)
		.map((source) =>
			roadOf({ source, pipeline: undefined, destination: undefined }, [
				...ofSource(source),
				{
					tone: "warning",
					text: words.noPipeline,
					to: "pipelines/new",
					query: { source: source.name },
					action: words.newPipeline,
				},
			]),
		);
	return [...loaded, ...unloaded].sort((a, b) => severityOf(a) - severityOf(b));
}

function roadOf(
	ends: Omit<Road, "findings">,
	findings: readonly Finding[],
): Road {
	return {
		...ends,
		findings: findings.toSorted((a, b) => severity[a.tone] - severity[b.tone]),
	};
}

function severityOf({ findings: [worst] }: Road): number {
	return worst ? severity[worst.tone] : 3;
}

function byName(a: { name: string }, b: { name: string }): number {
	return a.name < b.name ? -1 : 1;
}

function ofSource(source: Source): Finding[] {
	const { name, suspend, managedBy, conditions, counts, lastEventTime } =
		source;
	const at = `sources/${name}`;
	const plan = planNameOf(source);
	const quarantined = counts?.quarantined ?? 0;
	return [
		...(suspend
			? [warning(words.suspendedSource, at, words.toSource)]
			: notReady(conditions, at, managedBy, words.editSource, words.toSource)),
		...trueAlarms(conditions).map(({ reason, message }) =>
			bad(words.notReady(reason, message), at, words.toSource),
		),
		...(quarantined > 0 && plan
			? [
					warning(
						words.quarantined(quarantined.toLocaleString("en")),
						`tracking-plans/${plan}`,
						words.toQuarantine,
					),
				]
			: []),
		...(lastEventTime === undefined && !suspend
			? [
					{
						tone: "busy" as const,
						text: words.noEvents,
						to: at,
						action: words.sendOne,
					},
				]
			: []),
	];
}

function ofDestination(destination: Destination): Finding[] {
	const { name, managedBy, conditions } = destination;
	return notReady(
		conditions,
		`destinations/${name}`,
		managedBy,
		words.editDestination,
		words.toDestination,
	);
}

function ofPipeline(
	pipeline: Pipeline,
	runs: Account["runs"],
	nowMs: number,
): Finding[] {
	const { name, suspend, managedBy, conditions, lastRun, nextRunTime } =
		pipeline;
	const at = `pipelines/${name}`;
	const run = lastRun && runs.get(lastRun.name);
	const unfit = (run?.unfitValues ?? []).reduce(
		(sum, { rows }) => sum + rows,
		0,
	);
	const isAtWork = [...runs.values()].some(
		({ pipeline: of, status }) =>
			of === name && (status === "Running" || status === "Pending"),
	);
	const isLate =
		nextRunTime !== undefined &&
		Date.parse(nextRunTime) + lateAfterMs < nowMs &&
		!isAtWork;
	return [
		...(suspend
			? [warning(words.suspendedPipeline, at, words.toPipeline)]
			: notReady(
					conditions,
					at,
					managedBy,
					words.editPipeline,
					words.toPipeline,
				)),
		...(lastRun?.status === "Failed"
			? [
					bad(
						words.runFailed(run?.error?.message ?? lastRun.name),
						`runs/${lastRun.name}`,
						words.toRun,
					),
				]
			: []),
		...(isLate && !suspend ? [bad(words.late, at, words.toPipeline)] : []),
		...(unfit > 0
			? [
					warning(
						words.unfit(unfit.toLocaleString("en")),
						`runs/${lastRun!.name}`,
						words.toRun,
					),
				]
			: []),
	];
}

type Conditions = readonly {
	type: string;
	status: string;
	reason: string;
	message: string;
}[];

/** What stands in Git is mended there, so its page is opened in place of the form. */
function notReady(
	conditions: Conditions = [],
	at: string,
	managedBy: string | undefined,
	edit: string,
	open: string,
): Finding[] {
	const ready = conditions.find(({ type }) => type === "Ready");
	if (ready?.status !== "False") return [];
	const text = words.notReady(ready.reason, ready.message);
	return [managedBy ? bad(text, at, open) : bad(text, `${at}/edit`, edit)];
}

function trueAlarms(conditions: Conditions = []): Conditions {
	return conditions.filter(
		({ type, status }) => type === "EventsLost" && status === "True",
	);
}

function bad(text: string, to: string, action: string): Finding {
	return { tone: "bad", text, to, action };
}

function warning(text: string, to: string, action: string): Finding {
	return { tone: "warning", text, to, action };
}
