// prom-client: the usual metrics library, with the text format and Node's default metrics.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Pipeline, Run } from "../crds/generated/types.ts";
import { annotation, ownTokenName } from "../crds/labels.ts";
import { hasEnded } from "../crds/run.ts";
import type { ServerClock } from "../packages/kube/client/server-clock.ts";
import { type Condition, findCondition } from "../packages/kube/conditions.ts";
import type { KubeObject } from "../packages/kube/resource.ts";
import type { InstallationClaimer } from "./claims.ts";
import { firstOpenSlotMs, overdueSeconds } from "./pipeline/timing.ts";
import { valuesFit } from "./pipeline/values-fit.ts";
import type { Informers } from "./reconcile/informers.ts";
import type { NamespacePermissions } from "./reconcile/namespace-permissions.ts";

/** Pipelines of one account with series of their own, so that no account takes another's room in Prometheus. */
export const maxPipelines = 2_000;
/** Tokens of one account, those that expire first. */
export const maxTokens = 20;
/** Error codes of one account's Runs: a Job's process names them. */
const maxCodes = 60;
const others = "(other)";

/** What the metrics look at. */
export type ObservedInformers = Pick<
	Informers,
	| "sources"
	| "destinations"
	| "pipelines"
	| "trackingPlans"
	| "runs"
	| "roleBindings"
>;

/**
 * The operator's metrics of Tidemill's own resources. The gauges are of what is there, and each replica has them: take the
 * maximum. The counters are of what the leader sees.
 */
export class OperatorMetrics {
	readonly #informers: ObservedInformers;
	readonly #runs: Counter<"account" | "phase" | "code">;
	readonly #seconds: Histogram<"phase">;
	/** The codes of each account that have a series. */
	readonly #codes = new Map<string, Set<string>>();

	constructor(
		registry: Registry,
		informers: ObservedInformers,
		claims: Pick<InstallationClaimer, "overlaps">,
		permissions: Pick<NamespacePermissions, "namesOf">,
		isRestoreAwaited: () => boolean,
		lostEventsOf: (sourceKey: string) => number,
		/** Whose time counts: a schedule isn't late because this process's clock is. */
		clock: Pick<ServerClock, "aheadMs" | "now">,
	) {
		const now = () => clock.now();
		this.#informers = informers;
		const registers = [registry];
		const gauge = (
			name: string,
			help: string,
			labelNames: string[],
			collect: (gauge: Gauge) => void,
		) =>
			new Gauge({
				name: `tidemill_${name}`,
				help,
				labelNames,
				registers,
				collect() {
					this.reset();
					collect(this);
				},
			});
		gauge(
			"resources",
			"Resources, by kind, account and the status of their condition Ready: True, False or Unknown.",
			["kind", "account", "ready"],
			(gauge) => {
				const { sources, destinations, pipelines, trackingPlans } = informers;
				for (const informer of [
					sources,
					destinations,
					pipelines,
					trackingPlans,
				])
					for (const object of informer.list())
						gauge.inc({
							kind: informer.kind.kind,
							account: object.metadata.namespace!,
							ready: readyOf(object),
						});
			},
		);
		const pipelineGauge = (
			name: string,
			help: string,
			figure: (pipeline: Pipeline) => number | undefined,
		) =>
			gauge(`pipeline_${name}`, help, ["account", "pipeline"], (gauge) => {
				for (const pipeline of this.#pipelines()) {
					const value = figure(pipeline);
					if (value !== undefined) gauge.set(labelsOf(pipeline), value);
				}
			});
		pipelineGauge(
			"last_success_timestamp_seconds",
			"The table holds every event that was accepted before this instant, in seconds since 1970: the snapshot of the last successful Run. time() minus this is the age of the last success.",
			({ status }) => {
				const time = status?.lastSuccess?.snapshotTime;
				return time === undefined ? undefined : Date.parse(time) / 1000;
			},
		);
		const slots = new WeakMap<Pipeline, { ms: number | undefined }>();
		pipelineGauge(
			"overdue_seconds",
			"How long ago the first scheduled time was that no successful Run has followed, by the apiserver's clock; 0 if it is to come. Absent without an active schedule.",
			(pipeline) => {
				// A slot stays the same until the Pipeline changes, and thousands of cron expressions take long.
				let slot = slots.get(pipeline);
				if (!slot) {
					slot = { ms: firstOpenSlotMs(pipeline) };
					slots.set(pipeline, slot);
				}
				return slot.ms === undefined
					? undefined
					: overdueSeconds(slot.ms, now());
			},
		);
		pipelineGauge(
			"values_unfit",
			"1 while 1 % or more of the values of a column from the body don't fit it (condition ValuesFit); 0 while they fit. Absent without such columns.",
			({ status }) => {
				const found = findCondition(status?.conditions, valuesFit);
				return found && (found.status === "False" ? 1 : 0);
			},
		);
		gauge(
			"pipeline_failed",
			"1 while the last ended Run of a Pipeline has failed, with its error's code (docs/reference/errors.md); the code is empty once the Run is deleted.",
			["account", "pipeline", "code"],
			(gauge) => {
				for (const pipeline of this.#pipelines()) {
					const { lastRun } = pipeline.status ?? {};
					if (lastRun?.phase !== "Failed") continue;
					const { namespace } = pipeline.metadata;
					const run = informers.runs.get(namespace!, lastRun.name);
					const code = codeText(run?.status?.error?.code);
					gauge.set({ ...labelsOf(pipeline), code }, 1);
				}
			},
		);
		gauge(
			"destination_unbound",
			"1 for each Destination whose Secret doesn't say where its password may go, and that goes on until 0.2.0 because an earlier version had verified it.",
			["account", "destination"],
			(gauge) => {
				for (const { metadata, status } of informers.destinations.list())
					if (status?.reached?.unbound)
						gauge.set(
							{ account: metadata.namespace!, destination: metadata.name },
							1,
						);
			},
		);
		gauge(
			"token_expiry_timestamp_seconds",
			`When a token of the REST API expires, in seconds since 1970: of each account the ${maxTokens} that expire first, until a day after.`,
			["account", "token"],
			(gauge) => {
				const valid = informers.roleBindings.list().flatMap(expiryOf);
				const lately = valid.filter(({ ms }) => ms > now() - dayMs);
				for (const own of Map.groupBy(lately, (each) => each.account).values())
					for (const { account, token, ms } of own
						.toSorted((a, b) => a.ms - b.ms)
						.slice(0, maxTokens))
						gauge.set({ account, token }, ms / 1000);
			},
		);
		gauge(
			"installation_overlap",
			"1 for each watched namespace, NATS and bucket that another installation of the cluster claims as well. `has_it` names the installation that claimed it first: this or other.",
			["account", "other", "has_it"],
			(gauge) => {
				for (const { claim, other, isOurs } of claims.overlaps)
					gauge.set(
						{ account: claim, other, has_it: isOurs ? "this" : "other" },
						1,
					);
			},
		);
		gauge(
			"restore_awaited",
			"1 while NATS has the routes of another cluster, so that the operator removes none until somebody runs `tidemill restore --complete`.",
			[],
			(gauge) => gauge.set(isRestoreAwaited() ? 1 : 0),
		);
		gauge(
			"source_lost_events",
			"Events of the Source that are gone from the bucket for good, which an administrator has accepted with `tidemill ledger accept-loss`. Absent for none.",
			["account", "source"],
			(gauge) => {
				for (const { metadata, status } of informers.sources.list()) {
					const { sourceKey } = status ?? {};
					const events = sourceKey === undefined ? 0 : lostEventsOf(sourceKey);
					const account = metadata.namespace!;
					if (events > 0) gauge.set({ account, source: metadata.name }, events);
				}
			},
		);
		gauge(
			"operator_clock_ahead_seconds",
			"How far the operator's clock is ahead of the apiserver's, by the date in its newest answer; negative if it is behind. 0 until the apiserver has answered.",
			[],
			(gauge) => gauge.set((clock.aheadMs ?? 0) / 1000),
		);
		for (const [name, help, type] of [
			[
				"missing",
				"1 for each watched namespace that doesn't exist.",
				"missing",
			],
			[
				"not_permitted",
				"1 for each watched namespace in which the operator lacks a permission; * stands for all.",
				"notPermitted",
			],
		] as const)
			gauge(`watched_namespace_${name}`, help, ["account"], (gauge) => {
				for (const account of permissions.namesOf(type))
					gauge.set({ account }, 1);
			});
		this.#runs = new Counter({
			name: "tidemill_runs_total",
			help: "Runs that ended while this process led, by phase (Succeeded, Failed, Cancelled) and error code.",
			labelNames: ["account", "phase", "code"],
			registers,
		});
		this.#seconds = new Histogram({
			name: "tidemill_run_duration_seconds",
			help: "Time from a Run's creation to its end, by phase, of Runs that ended while this process led.",
			labelNames: ["phase"],
			buckets: [5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600],
			registers,
		});
	}

	/** Counts the Runs that end from now on. */
	countRuns(): void {
		this.#informers.runs.onChange((run, previous, deleted) => {
			if (deleted || !previous || hasEnded(previous) || !hasEnded(run)) return;
			this.#count(run);
		});
	}

	#count({ metadata, status }: Run): void {
		const { phase = "", completionTime, error } = status ?? {};
		const account = metadata.namespace!;
		this.#runs.inc({
			account,
			phase,
			code: this.#codeOf(account, error?.code),
		});
		const tookMs =
			Date.parse(completionTime!) - Date.parse(metadata.creationTimestamp!);
		this.#seconds.observe({ phase }, Math.max(0, tookMs / 1000));
	}

	#codeOf(account: string, named: string | undefined): string {
		const code = codeText(named);
		const codes = this.#codes.get(account) ?? new Set();
		this.#codes.set(account, codes);
		if (!codes.has(code) && codes.size >= maxCodes) return others;
		codes.add(code);
		return code;
	}

	#pipelines(): Pipeline[] {
		const left = new Map<string, number>();
		return this.#informers.pipelines.list().filter(({ metadata }) => {
			const account = metadata.namespace!;
			const places = left.get(account) ?? maxPipelines;
			left.set(account, places - 1);
			return places > 0;
		});
	}
}

const dayMs = 86_400_000;
/** As the REST API names a token's RoleBinding. */
const tokenPrefix = "tidemill-token-";

function readyOf(object: KubeObject): string {
	const { status } = object as { status?: { conditions?: Condition[] } };
	return findCondition(status?.conditions, "Ready")?.status ?? "Unknown";
}

function labelsOf({ metadata }: Pipeline) {
	return { account: metadata.namespace!, pipeline: metadata.name };
}

/** A Job's process can be anything that its account runs. */
function codeText(code = ""): string {
	return /^[A-Za-z]{0,40}$/.test(code) ? code : others;
}

/** Anybody in the account may have written the annotation. */
function expiryOf({
	metadata: { namespace, name, annotations },
}: KubeObject): { account: string; token: string; ms: number }[] {
	const ms = Date.parse(annotations?.[annotation.tokenExpires] ?? "");
	// The command line renews its own, and nobody need hear of them.
	if (Number.isNaN(ms) || ownTokenName.test(name)) return [];
	const token = name.startsWith(tokenPrefix)
		? name.slice(tokenPrefix.length)
		: name;
	return [{ account: namespace!, token, ms }];
}
