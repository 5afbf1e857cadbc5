import { randomUUID } from "node:crypto";
import type {
	Destination,
	Layout,
	Pipeline,
	PipelineSpec,
	Run,
	RunSpec,
	RunStatus,
	Source,
} from "../../../crds/generated/types.ts";
import { annotation } from "../../../crds/labels.ts";
import { planDates } from "../../../operator/pipeline/plan-dates.ts";
import { resolveTarget } from "../../../operator/pipeline/target.ts";
import { runJob } from "../../../operator/run/job.ts";
import type { JobResult } from "../../../packages/contracts/job.ts";
import type { Manifest } from "../../../packages/contracts/manifest.ts";
import { findCondition } from "../../../packages/kube/conditions.ts";
import {
	stateOf,
	statusAfter,
} from "../../support/examples/pipeline-examples.ts";
import {
	pipelineOf,
	sourceOf,
} from "../../support/examples/resource-examples.ts";
import type { LoadFixture } from "../../support/fixtures/data-plane/load-fixture.ts";
import { account, type HistoryLake } from "./lake.ts";
import type { Strike } from "./table.ts";

type Success = Extract<JobResult, { outcome: "Succeeded" }>;

export interface AskedRun extends Pick<RunSpec, "dates" | "full"> {
	trigger: "Schedule" | "Manual";
	/** Where an attempt is struck, and whether another one follows. */
	strike?: Strike & { isRepeated: boolean };
	/** The first attempt's result is lost: another one follows. */
	isLost?: boolean;
}

/** How a Run ended. */
export interface RunEnd {
	phase: "Succeeded" | "Failed" | "Paused";
	/** Why it failed, or why the schedule pauses. */
	code?: string | undefined;
	message?: string | undefined;
	isStruck: boolean;
	manifest?: Manifest;
	layout?: Layout;
	result?: Success;
}

/**
 * A Pipeline with the operator's own decisions (what a Run loads, into what, what the status remembers), the lake's manifests and
 * the load, without an apiserver. `nowMs` of the lake is everybody's clock.
 */
export class HistoryPipeline {
	readonly pipeline: Pipeline = pipelineOf();
	readonly sources: Map<string, Source>;
	readonly #lake: HistoryLake;
	readonly #destination: Destination;
	readonly #load: LoadFixture["load"];
	#runs = 0;

	constructor(
		lake: HistoryLake,
		destination: Destination,
		load: LoadFixture["load"],
		sourceKeys: Record<string, string>,
	) {
		this.#lake = lake;
		this.#destination = destination;
		this.#load = load;
		this.sources = new Map(
			Object.entries(sourceKeys).map(([name, sourceKey]) => {
				const source = sourceOf(name, { ...sourceOf().status, sourceKey });
				source.spec.webhook!.capturedHeaders = [];
				return [name, source];
			}),
		);
		this.pipeline.spec.destinationRef.name = destination.metadata.name;
		this.pipeline.spec.table.name = "orders";
	}

	get spec(): PipelineSpec {
		return this.pipeline.spec;
	}

	get sourceKey(): string {
		return this.sources.get(this.spec.sourceRef.name)!.status!.sourceKey!;
	}

	/** The operator looks at the Pipeline. Returns its condition Ready. */
	look(runs: Run[] = []) {
		const state = this.#state(runs);
		this.pipeline.status = statusAfter(state, this.#lake.nowMs);
		return findCondition(this.pipeline.status.conditions, "Ready");
	}

	async run({ trigger, dates, full, ...trouble }: AskedRun): Promise<RunEnd> {
		const ready = this.look();
		const { reason: code, message } = ready ?? {};
		if (trigger === "Schedule" && ready?.status !== "True")
			return { phase: "Paused", code, message, isStruck: false };
		const run = this.#newRun(trigger, {
			...(dates && { dates }),
			...(full && { full }),
		});
		const end = await this.#carryOut(run, trouble);
		const { manifest, layout, result } = end;
		const ended: RunStatus = {
			...run.status,
			phase: end.phase as "Succeeded" | "Failed",
			completionTime: new Date(this.#lake.nowMs).toISOString(),
			...(manifest && {
				extent: manifest.asked.extent,
				snapshotTime: manifest.snapshotTime,
				closedThrough: manifest.closedThrough,
			}),
			...(layout && { layout }),
			...(result && { rows: result.rows }),
			...(end.phase === "Failed" && {
				error: { code: end.code!, message: end.message!, retryable: false },
			}),
		};
		this.look([{ ...run, status: ended }]);
		return end;
	}

	async #carryOut(
		run: Run,
		{ strike, isLost }: Pick<AskedRun, "strike" | "isLost">,
	): Promise<RunEnd> {
		let isStruck = false;
		let extent: Manifest["asked"]["extent"] | undefined;
		for (let attempt = 1; ; attempt++) {
			const asked = await this.#ask(run, extent === "Whole");
			if ("code" in asked) return { phase: "Failed", ...asked, isStruck };
			const { manifest, layout, input } = asked;
			const strikes = attempt === 1 && strike;
			const { manifestURL, ...rest } = input;
			const end = await (strikes
				? strike.during(manifest, { input: rest })
				: this.#load(manifest, { input: rest }));
			const found = { manifest, layout };
			const { result } = end;
			if (!result) {
				if (!strikes || !strike.isKill) throw new Error(end.log);
				isStruck = true;
				if (strike.isRepeated) continue;
				const error = { code: "Killed", message: "by SIGKILL" };
				return { phase: "Failed", ...error, isStruck, ...found };
			}
			if (result.outcome === "Succeeded") {
				if (attempt > 1 || !isLost)
					return { phase: "Succeeded", isStruck, ...found, result };
				isStruck = true;
				continue;
			}
			const { error } = result;
			if (strikes && !refusals.has(error.code)) {
				isStruck = true;
				if (strike.isRepeated) continue;
			}
			if (error.code !== "TableIncomplete" || extent !== undefined)
				return { phase: "Failed", ...error, isStruck, ...found };
			extent = "Whole";
		}
	}

	async #ask(run: Run, isWhole: boolean) {
		const resolved = resolveTarget(this.#state([]));
		if ("problem" in resolved) {
			const { reason: code, message } = resolved.problem;
			return { code, message };
		}
		const { target } = resolved;
		const { dates, full } = run.spec;
		const plan = planDates(
			this.spec,
			target.layout,
			this.pipeline.status?.lastSuccess,
			{ ...(dates && { dates }), full: full || isWhole },
			this.#lake.nowMs,
		);
		if ("problem" in plan) return plan.problem;
		const manifest = await this.#lake.manifest({
			run: run.metadata.uid!,
			account,
			sourceKey: target.layout.sourceKey,
			...plan,
			...(target.quarantine && { quarantine: true }),
		});
		const { secret } = runJob(run, this.pipeline, target, {
			manifestURL: "",
			extent: manifest.asked.extent,
			image: "tidemill",
			activeDeadlineSeconds: 60,
		});
		const text = Buffer.from(secret.data!["input.json"]!, "base64").toString();
		return { manifest, layout: target.layout, input: JSON.parse(text) };
	}

	#newRun(trigger: AskedRun["trigger"], spec: Partial<RunSpec>): Run {
		return {
			apiVersion: "tidemill.dev/v1alpha1",
			kind: "Run",
			metadata: {
				name: `run-${++this.#runs}`,
				namespace: account,
				uid: randomUUID(),
				creationTimestamp: new Date(this.#lake.nowMs).toISOString(),
				...(trigger === "Schedule" && {
					annotations: { [annotation.trigger]: "Schedule" },
				}),
			},
			spec: { pipelineRef: { name: this.pipeline.metadata.name }, ...spec },
		};
	}

	#state(runs: Run[]) {
		return stateOf({
			pipeline: this.pipeline,
			source: this.sources.get(this.spec.sourceRef.name),
			destination: this.#destination,
			runs,
		});
	}
}

/** With these a load refuses the table that it finds. No strike causes them. */
const refusals = new Set([
	"TableIncompatible",
	"TableNotOurs",
	"TableIncomplete",
]);
