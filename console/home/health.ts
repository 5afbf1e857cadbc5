import { conditionTone } from "../components/condition-tone.ts";
import type { Destination, Pipeline, Source } from "../generated/types.ts";
import { home as words } from "../messages/home.ts";
import { planNameOf } from "../tracking-plans/plan-form.ts";

/** What is wrong on the way from a Source to a table, and where it is mended. */
export interface RoadFinding {
	tone: "bad" | "warning" | "busy";
	text: string;
	/** The address of the next step, and the words that lead there. */
	to: string;
	query?: Record<string, string>;
	action: string;
}

/** A Source with one of the Pipelines that load it. Each lacks where nobody has made it, or the visitor may not list it. */
export interface Road {
	source: Source | undefined;
	pipeline: Pipeline | undefined;
	/** The worst first. */
	findings: RoadFinding[];
}

/** What the visitor may list; undefined is a kind that they may not. */
export interface SeenAccount {
	sources: ReadonlyMap<string, Source>;
	pipelines: ReadonlyMap<string, Pipeline> | undefined;
	destinations: ReadonlyMap<string, Destination> | undefined;
	can(kind: string, verb: "create" | "update"): boolean;
}

const severity = { bad: 0, warning: 1, busy: 2 };

/** Each Pipeline with its Source and its Destination, and each Source without a Pipeline: those that need somebody first. */
export function roadsOf(account: SeenAccount): Road[] {
	const { sources, destinations, can } = account;
	const pipelines = [...(account.pipelines?.values() ?? [])].sort(byName);
	const said = new Set<string>();
	const loaded = pipelines.map((pipeline): Road => {
		const source = sources.get(pipeline.sourceRef.name);
		const destination = destinations?.get(pipeline.destinationRef.name);
		const ofItsSource = source ? ofSource(source, can) : [];
		const isAgain = source !== undefined && said.has(source.name);
		if (source) said.add(source.name);
		const ofItsDestination = destination ? ofDestination(destination, can) : [];
		return roadOf(source, pipeline, [
			...(isAgain ? inShort(ofItsSource) : ofItsSource),
			...ofItsDestination,
			...ofPipeline(pipeline, can, ofItsDestination.length > 0),
		]);
	});
	const unloaded = [...sources.values()]
		.filter(({ name }) => !said.has(name))
		.sort(byName)
		.map((source) =>
			roadOf(source, undefined, [
				...ofSource(source, can),
				...(account.pipelines ? [withoutPipeline(source, can)] : []),
			]),
		);
	return [...loaded, ...unloaded].sort((a, b) => severityOf(a) - severityOf(b));
}

function roadOf(
	source: Source | undefined,
	pipeline: Pipeline | undefined,
	findings: readonly RoadFinding[],
): Road {
	return {
		source,
		pipeline,
		findings: findings.toSorted((a, b) => severity[a.tone] - severity[b.tone]),
	};
}

function severityOf({ findings: [worst] }: Road): number {
	return worst ? severity[worst.tone] : 3;
}

function byName(a: { name: string }, b: { name: string }): number {
	return a.name < b.name ? -1 : 1;
}

/** What a Source needs is said in full at its first Pipeline. */
function inShort(findings: RoadFinding[]): RoadFinding[] {
	const [worst] = findings.toSorted(
		(a, b) => severity[a.tone] - severity[b.tone],
	);
	return worst ? [{ ...worst, text: words.sourceToo }] : [];
}

function withoutPipeline(
	{ name }: Source,
	can: SeenAccount["can"],
): RoadFinding {
	const text = words.noPipeline;
	return can("pipelines", "create")
		? {
				...{ tone: "warning", text, action: words.newPipeline },
				...{ to: "pipelines/new", query: { source: name } },
			}
		: { tone: "warning", text, to: `sources/${name}`, action: words.toSource };
}

function ofSource(source: Source, can: SeenAccount["can"]): RoadFinding[] {
	const { name, suspend, managedBy, conditions, counts, lastEventTime } =
		source;
	const at = `sources/${name}`;
	const plan = planNameOf(source);
	const quarantined = counts?.quarantined ?? 0;
	const mayEdit = can("sources", "update") && !managedBy;
	return [
		...ofConditions(conditions, {
			at,
			open: words.toSource,
			...(mayEdit && { edit: words.editSource }),
			suspended: suspend && words.suspendedSource,
		}),
		...(quarantined > 0 && plan
			? [
					{
						tone: "warning" as const,
						text: words.quarantined(quarantined.toLocaleString("en")),
						to: `tracking-plans/${plan}`,
						action: words.toQuarantine,
					},
				]
			: []),
		...(lastEventTime === undefined && !suspend
			? [
					{
						tone: "busy" as const,
						text: words.noEvents,
						to: at,
						action: words.toSource,
					},
				]
			: []),
	];
}

function ofDestination(
	{ name, managedBy, conditions }: Destination,
	can: SeenAccount["can"],
): RoadFinding[] {
	const mayEdit = can("destinations", "update") && !managedBy;
	return ofConditions(conditions, {
		at: `destinations/${name}`,
		open: words.toDestination,
		...(mayEdit && { edit: words.editDestination }),
	});
}

/** @param isDestinationSaid what its Destination lacks is said already */
function ofPipeline(
	{ name, suspend, managedBy, conditions, lastRun }: Pipeline,
	can: SeenAccount["can"],
	isDestinationSaid: boolean,
): RoadFinding[] {
	const mayEdit = can("pipelines", "update") && !managedBy;
	return ofConditions(conditions, {
		at: `pipelines/${name}`,
		open: words.toPipeline,
		...(mayEdit && { edit: words.editPipeline }),
		...(lastRun && { run: `runs/${lastRun.name}` }),
		suspended: suspend && words.suspendedPipeline,
		...(isDestinationSaid && { said: "DestinationNotReady" }),
	});
}

interface Place {
	at: string;
	/** The words of the link to its page. */
	open: string;
	/** The words of the link to its form, for who may change it there: what a GitOps tool applies is mended in its repository. */
	edit?: string;
	/** The address of the last Run. */
	run?: string;
	suspended?: string | false | undefined;
	/** A reason that is told elsewhere. */
	said?: string;
}

/** Of what the last Run did. */
const ofRuns = new Set(["RunSucceeded", "ValuesFit"]);

/** Of these, what isn't as it should be stops nothing. */
const mild = new Set(["Cancelled", "Unfit", "Quiet"]);

/** The operator's own words: each condition that isn't good, and `Ready` while nobody knows. */
function ofConditions(
	conditions: Source["conditions"] = [],
	{ at, open, edit, run, suspended, said }: Place,
): RoadFinding[] {
	const found = conditions.flatMap((condition): RoadFinding[] => {
		const { type, reason, message } = condition;
		const tone = conditionTone(condition);
		if (tone === "good" || reason === said) return [];
		if (suspended && type === "Ready") return [];
		const text = words.said(reason, message);
		if (tone === "busy")
			return type === "Ready" ? [{ tone, text, to: at, action: open }] : [];
		const isMild = mild.has(reason);
		const where =
			run && ofRuns.has(type)
				? { to: run, action: words.toRun }
				: type === "Ready" && edit
					? { to: `${at}/edit`, action: edit }
					: { to: at, action: open };
		return [{ tone: isMild ? "warning" : "bad", text, ...where }];
	});
	if (suspended)
		found.push({ tone: "warning", text: suspended, to: at, action: open });
	else if (!conditions.some(({ type }) => type === "Ready"))
		found.push({ tone: "busy", text: words.notSeen, to: at, action: open });
	return found;
}
