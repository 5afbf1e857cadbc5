import { setTimeout as delay } from "node:timers/promises";
import {
	type Run,
	runKind,
	type Source,
} from "../../../crds/generated/types.ts";
import { newRun } from "../../../crds/run.ts";
import { containerName } from "../../../operator/jobs/template.ts";
import type { KubeClient } from "../../../packages/kube/client/client.ts";
import {
	endOf,
	type Job,
	kinds,
	type Pod,
} from "../../../packages/kube/kinds.ts";
import type { KubeObject } from "../../../packages/kube/resource.ts";
import { Informer } from "../../../packages/kube/watch/informer.ts";
import { createLog } from "../../../packages/service/log.ts";
import {
	openLocalMode,
	startLocalMode,
} from "../../../test/support/servers/local-mode.ts";
import {
	type Bench,
	compared,
	figure,
	type Measurement,
} from "../measure/measurement.ts";
import { roundsOf } from "../measure/rounds.ts";

const rounds = roundsOf(11);
const timeoutMs = 120_000;
const namespace = "default";
const image = "tidemill.local/tidemill:dev";
const log = createLog("bench");
log.level = "warn";

/** What is seen of a Run, and of a Job without one, in this order. */
const moments = [
	"the Run is Running",
	"its Job is made",
	"its Pod is made",
	"the Pod is bound",
	"its process runs",
	"its process has ended",
	"the Job is Complete",
	"the Run has Succeeded",
] as const;
type Moment = (typeof moments)[number];
/** Milliseconds since the Run, or the Job, was made. */
type Seen = Partial<Record<Moment, number>>;

/** On a whole local Tidemill: an event is answered, a Run is made, and the Run has Succeeded with its row in the table. */
export const bench: Bench = {
	about:
		"from a Run that is made right after an event was answered to its row in DuckDB, in local mode; baseline: a Job of the same image that does nothing",
	async run(say): Promise<Measurement[]> {
		const { home, stop } = await startLocalMode();
		const watching = new AbortController();
		try {
			const { client, run, resource } = await openLocalMode(namespace, home);
			await run("kubectl", "apply", "-f", "examples/quickstart/");
			for (const kind of ["source", "destination", "pipeline"])
				await run(
					"kubectl",
					"wait",
					"--for=condition=Ready",
					kind,
					"--all",
					"--timeout=120s",
				);
			const source = await resource<Source>("get", "source", "shop");
			const url = source.status!.webhookURL!;
			const observer = await Observer.start(client, watching.signal);
			const runs: Seen[] = [];
			const bare: Seen[] = [];
			for (let round = 0; round <= rounds; round++) {
				const alone = await observer.job(round);
				await post(url, round);
				const seen = await observer.run(round);
				// The first round reads the files from the disk.
				if (round === 0) continue;
				bare.push(alone);
				runs.push(seen);
				say(
					`round ${round} of ${rounds}: ${textOf(seen)}; the Job alone: ${textOf(alone)}`,
				);
			}
			return figuresOf(runs, bare);
		} finally {
			watching.abort();
			await stop();
		}
	},
};

async function post(url: string, order: number): Promise<void> {
	const response = await fetch(url, {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: JSON.stringify({ order }),
	});
	if (!response.ok) throw new Error(`${url}: ${response.status}`);
}

function textOf(seen: Seen): string {
	return moments
		.filter((moment) => seen[moment] !== undefined)
		.map((moment) => `${moment} ${seen[moment]!.toFixed(0)} ms`)
		.join(", ");
}

function figuresOf(runs: Seen[], bare: Seen[]): Measurement[] {
	const at = (all: Seen[], moment: Moment) =>
		all.map((seen) => seen[moment]! / 1000);
	const stages = moments.flatMap((moment, index) => {
		// The Run doesn't wait for the Job.
		const before = moments[index - 1];
		const from =
			moment === "the Run has Succeeded" ? "its process has ended" : before;
		if (moment === "the Job is Complete") return [];
		const lengthIn = (all: Seen[]) =>
			all.map((seen) => (seen[moment]! - (from ? seen[from]! : 0)) / 1000);
		const ofBare = bare.every(
			(seen) => seen[moment] !== undefined && from && seen[from] !== undefined,
		);
		const name = `until ${moment}`;
		return [
			ofBare
				? compared(name, "s", lengthIn(runs), lengthIn(bare))
				: figure(name, lengthIn(runs), "s"),
		];
	});
	return [
		compared(
			"Run made to Succeeded, against a Job made to Complete",
			"s",
			at(runs, "the Run has Succeeded"),
			at(bare, "the Job is Complete"),
			{ atMost: 1 },
		),
		...stages,
	];
}

/** Notes when a watch brings what is waited for. */
class Observer {
	readonly #client: KubeClient;
	readonly #jobs: Informer<Job>;
	readonly #pods: Informer<Pod>;
	readonly #runs: Informer<Run>;

	private constructor(client: KubeClient) {
		this.#client = client;
		this.#jobs = new Informer<Job>(client, kinds.job, { log });
		this.#pods = new Informer<Pod>(client, kinds.pod, { log });
		this.#runs = new Informer<Run>(client, runKind, { log });
	}

	static async start(client: KubeClient, signal: AbortSignal) {
		const observer = new Observer(client);
		const all = [observer.#jobs, observer.#pods, observer.#runs];
		for (const informer of all)
			void informer.run(signal, { namespaces: [namespace] });
		await Promise.all(all.map(({ synced }) => synced));
		return observer;
	}

	/** One that does nothing. */
	async job(round: number): Promise<Seen> {
		const name = `bare-${round}`;
		const startMs = performance.now();
		const seen = this.#observe(startMs, (job) => job === name);
		await this.#client.create(
			kinds.job,
			{
				metadata: { name, namespace },
				spec: {
					template: {
						spec: {
							restartPolicy: "Never",
							automountServiceAccountToken: false,
							containers: [
								{
									name: containerName,
									image,
									command: ["tidemill"],
									args: ["--version"],
								},
							],
						},
					},
				},
			},
			{ fieldManager: "bench" },
		);
		const result = await until(seen, "the Job is Complete");
		await this.#client.delete(kinds.job, name, namespace);
		return result;
	}

	async run(round: number): Promise<Seen> {
		const run = newRun("orders", { name: `orders-${round}`, namespace });
		const { name } = run.metadata;
		const startMs = performance.now();
		const seen = this.#observe(
			startMs,
			(job) => job?.startsWith(name) ?? false,
			name,
		);
		await this.#client.create(runKind, run, { fieldManager: "bench" });
		const result = await until(seen, "the Run has Succeeded");
		const { rows, phase } = this.#runs.get(namespace, name)!.status!;
		if (phase !== "Succeeded" || rows === undefined)
			throw new Error(`the Run ${name} is ${phase} with ${rows} rows`);
		return result;
	}

	#observe(
		startMs: number,
		isOwn: (job: string | undefined) => boolean,
		run?: string,
	): Seen {
		const seen: Seen = {};
		const note = (moment: Moment, isTrue: unknown) => {
			if (isTrue) seen[moment] ??= performance.now() - startMs;
		};
		this.#jobs.onChange((job) => {
			if (!isOwn(job.metadata.name)) return;
			note("its Job is made", true);
			note("the Job is Complete", endOf(job));
		});
		this.#pods.onChange((pod) => {
			const job = ownerOf(pod);
			if (!isOwn(job)) return;
			note("its Pod is made", true);
			note("the Pod is bound", pod.spec?.nodeName);
			const { running, terminated } =
				pod.status?.containerStatuses?.[0]?.state ?? {};
			note("its process runs", running ?? terminated);
			note("its process has ended", terminated);
		});
		this.#runs.onChange(({ metadata, status }) => {
			if (metadata.name !== run) return;
			note("the Run is Running", status?.phase === "Running");
			note("the Run has Succeeded", status?.completionTime);
		});
		return seen;
	}
}

function ownerOf({ metadata }: KubeObject): string | undefined {
	return metadata.ownerReferences?.find(({ kind }) => kind === "Job")?.name;
}

async function until(seen: Seen, moment: Moment): Promise<Seen> {
	const deadline = performance.now() + timeoutMs;
	while (seen[moment] === undefined) {
		if (performance.now() > deadline)
			throw new Error(`${moment}: not within ${timeoutMs} ms: ${textOf(seen)}`);
		await delay(5);
	}
	return { ...seen };
}
