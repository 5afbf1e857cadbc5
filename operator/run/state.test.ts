import { expect, test } from "vitest";
import {
	type Operation,
	operationKind,
	type Run,
	runKind,
} from "../../crds/generated/types.ts";
import { label, managedByTidemill } from "../../crds/labels.ts";
import type { Job } from "../../packages/kube/kinds.ts";
import {
	controllerReference,
	type KubeObject,
} from "../../packages/kube/resource.ts";
import { createLog } from "../../packages/service/log.ts";
import { listedClient } from "../../test/support/doubles/kubernetes/listed-client.ts";
import {
	destinationOf,
	layout,
	pipelineOf,
	runOf,
	sourceOf,
} from "../../test/support/examples/resource-examples.ts";
import { runsOf } from "../pipeline/state.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { createInformers } from "../reconcile/informers.ts";
import { keysSecret } from "../source/routes/keys.ts";
import { warehouseLabel } from "./job.ts";
import { nextRuns, readRun } from "./state.ts";

const log = createLog("test");
log.level = "silent";
const namespace = "shop";
const running = runOf("r", { phase: "Running", attempts: 1, layout });

test("a Run with a Job keeps the shard of the Source that it began with", async () => {
	const { spec, ...rest } = pipelineOf();
	const other = sourceOf("other", { sourceKey: "7".repeat(32) });
	const objects = {
		runs: [running],
		jobs: [jobOf(running)],
		pipelines: [{ ...rest, spec: { ...spec, sourceRef: { name: "other" } } }],
		sources: [sourceOf(), other],
		secrets: [sourceOf(), other].map(
			({ metadata: { name }, status }, shard) => {
				const keys = { sourceKey: status!.sourceKey!, urlKey: "6".repeat(32) };
				const secret = keysSecret({ namespace, name }, { ...keys, shard });
				return { metadata: secret.metadata, data: inBase64(secret.stringData) };
			},
		),
	};
	expect((await read(objects)).shard).toBe(0);
	// Without a Job, it will load what its Pipeline says by then.
	expect((await read({ ...objects, jobs: [] })).shard).toBe(1);
});

test("a Run asks the shard that the status names, whatever people wrote into the Secret", async () => {
	const source = sourceOf();
	const { sourceKey } = source.status!;
	const keys = { sourceKey: sourceKey!, urlKey: "6".repeat(32), shard: 1 };
	const { metadata, stringData } = keysSecret(
		{ namespace, name: "shop" },
		keys,
	);
	const name = `${source.metadata.name}-webhook-url`;
	const labels = {
		...metadata.labels,
		[label.issuedFor]: source.metadata.name,
	};
	const known = { ...source, status: { ...source.status, shard: 0 } };
	const secret = {
		metadata: { ...metadata, name, labels },
		data: inBase64(stringData),
	};
	const objects = {
		runs: [running],
		jobs: [jobOf(running)],
		secrets: [secret],
	};
	expect((await read({ ...objects, sources: [known] })).shard).toBe(0);
});

test("a look at a Run touches no Job, Pod or Run that has ended", async () => {
	let touched = 0;
	const counted = <T extends object>(object: T): T =>
		new Proxy(object, {
			get: (target, name) => {
				touched++;
				return Reflect.get(target, name);
			},
		});
	const status = { phase: "Succeeded", completionTime: "2026-03-31T12:00:00Z" };
	const ended = Array.from({ length: 500 }, (_, index) =>
		runOf(`ended-${index}`, status),
	);
	const over = { conditions: [{ type: "Complete", status: "True" }] };
	const state = await read(
		{
			runs: [running, ...ended.map(counted)],
			jobs: [
				jobOf(running),
				...ended.map((run) => counted({ ...jobOf(run), status: over })),
			],
			pods: ended.map((run) => counted({ ...jobOf(run), status })),
		},
		() => {
			touched = 0;
		},
	);
	expect(state.job).toBeDefined();
	expect(touched).toBe(0);
});

/** As the apiserver stores it. */
function inBase64(texts: Record<string, string> = {}) {
	return Object.fromEntries(
		Object.entries(texts).map(([name, text]) => [
			name,
			Buffer.from(text).toString("base64"),
		]),
	);
}

function jobOf(run: Run): Job {
	const { name } = run.metadata;
	return {
		metadata: {
			name,
			namespace,
			uid: `uid-job-${name}`,
			labels: {
				...managedByTidemill,
				[label.run]: name,
				[label.warehouse]: "w",
			},
			ownerReferences: [controllerReference(runKind, run)],
		},
	};
}

/** What is read about the Run among these objects. @param synced is called when memory has them all. */
test("a Run of a dry run counts what its Operation says while that goes on, and is none of its Pipeline's Runs", async () => {
	const erase = { mode: "RemoveRow", confirm: "shop", dryRun: true };
	const operation = (spec: object, status = {}) =>
		({
			metadata: { namespace, name: "o", uid: "uid-o" },
			spec: {
				type: "Erase",
				sourceRef: pipelineOf().spec.sourceRef,
				filter: { eventIDs: ["a"] },
				erase,
				...spec,
			},
			status,
		}) as unknown as Operation;
	const run = runOf("r");
	const asked = operation({});
	run.metadata.ownerReferences = [controllerReference(operationKind, asked)];
	const counts = async (operation: Operation) =>
		(await read({ runs: [run], operations: [operation] })).counts;
	expect(await counts(asked)).toEqual({ mode: "RemoveRow", eventIDs: ["a"] });
	for (const other of [
		operation({ erase: { ...erase, dryRun: false } }),
		operation({ sourceRef: { name: "other" } }),
		operation({}, { completionTime: "2026-03-31T12:00:00Z" }),
	])
		expect(await counts(other)).toBeUndefined();
	const { context, stop } = await contextWith({ runs: [run, runOf("s")] });
	const runs = await runsOf(context, pipelineOf());
	await stop();
	expect(runs.map(({ metadata: { name } }) => name)).toEqual(["s"]);
});

async function read(
	objects: Record<string, KubeObject[]>,
	synced?: () => void,
) {
	const { context, stop } = await contextWith(objects);
	synced?.();
	const key = { namespace, name: "r" };
	const outcomes = { progress: undefined };
	const state = await readRun(context, key, outcomes, Date.now());
	await stop();
	return state!;
}

/** Memory that has these objects. */
async function contextWith(objects: Record<string, KubeObject[]>) {
	const client = Object.assign(
		listedClient({
			pipelines: [pipelineOf()],
			sources: [sourceOf()],
			destinations: [destinationOf()],
			...objects,
		}),
		{
			get: async ({ plural }: { plural: string }, name: string) =>
				objects[plural]?.find(({ metadata }) => metadata.name === name),
		},
	);
	const informers = createInformers(client, { namespaces: undefined, log });
	const abort = new AbortController();
	const watching = Object.values(informers).map((each) =>
		each.run(abort.signal),
	);
	await Promise.all(Object.values(informers).map(({ synced }) => synced));
	const stop = async () => {
		abort.abort();
		await Promise.all(watching);
	};
	const podPolicy = { labels: [], annotations: [], priorityClasses: [] };
	const known = { informers, client, podPolicy, log };
	return { context: known as unknown as OperatorContext, stop };
}

test("when a Run ends, only the next one into its warehouse is woken", async () => {
	const createdAt = (index: number) =>
		`2026-03-01T00:00:${String(index).padStart(2, "0")}Z`;
	const runs = Array.from({ length: 50 }, (_, index) =>
		runOf(`r${index}`, undefined, { createdAt: createdAt(index) }),
	);
	const { context, stop } = await contextWith({ runs: runs.toReversed() });
	const { destination } = layout;
	const woken = nextRuns(context, namespace, warehouseLabel(destination));
	expect(woken.map(({ metadata }) => metadata.name)).toEqual(["r0"]);
	// A Run of which nobody knows where it wrote may have held any warehouse.
	expect(nextRuns(context, namespace, undefined)).toEqual(woken);
	expect(nextRuns(context, namespace, "another")).toEqual([]);
	await stop();
});
