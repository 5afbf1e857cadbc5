import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { parse } from "yaml";
import { projectDirectory } from "../../../local/machine/home.ts";
import { untilKnown } from "../../support/senders/http-client.ts";
import type {
	Quickstart,
	RunStatus,
} from "../../support/senders/quickstart.ts";
import { apply, get, kubectl, makeNamespace } from "./cluster.ts";
import { systemNamespace } from "./installation.ts";
import { runPod, scriptPod } from "./pod.ts";
import { serviceURL } from "./service.ts";

export const namespace = "shop";
const claim = "warehouse";
const file = "warehouse.duckdb";
const inShop = `--namespace=${namespace}`;

/** The namespace of an account, with the volume that its tables are on. */
export async function makeShop(): Promise<void> {
	await makeNamespace(namespace);
	await apply({
		apiVersion: "v1",
		kind: "PersistentVolumeClaim",
		metadata: {
			name: claim,
			namespace,
			labels: { "tidemill.dev/use": "true" },
		},
		spec: {
			accessModes: ["ReadWriteOnce"],
			resources: { requests: { storage: "1Gi" } },
		},
	});
}

/** While Tidemill is installed, which has to let go of each Source. */
export async function removeShop(): Promise<void> {
	await kubectl(
		"delete",
		"namespace",
		namespace,
		"--ignore-not-found",
		"--timeout=120s",
	);
}

/** Applies the quick start's resources; settles when receive knows the Source. */
export async function applyExamples(): Promise<Quickstart> {
	const [source, destination, pipeline] = await Promise.all(
		["source", "destination", "pipeline"].map(example),
	);
	destination.spec.duckDB.volumeClaimName = claim;
	await apply(source, destination, pipeline);
	await kubectl(
		"wait",
		inShop,
		"--for=condition=Ready",
		"--timeout=120s",
		"--all",
		"sources,destinations,pipelines",
	);
	const { status } = await get<{ status: { webhookURL: string } }>(
		"source/shop",
		inShop,
	);
	const receive = await serviceURL("tidemill-receive", systemNamespace);
	const webhookURL = `${receive}${new URL(status.webhookURL).pathname}`;
	await untilKnown(webhookURL);
	const tryPipeline = async () => endOf(await startRun());
	return {
		webhookURL,
		startRun,
		endOf,
		tryPipeline,
		runPipeline: async () => {
			const ended = await tryPipeline();
			expect(ended, JSON.stringify(ended)).toMatchObject({
				phase: "Succeeded",
			});
			return ended.rows!;
		},
		query,
	};
}

/** Lets the Pipeline run every minute, or only on demand. */
export async function setSchedule(schedule: object): Promise<void> {
	const pipeline = await example("pipeline");
	pipeline.spec.schedule = schedule;
	await apply(pipeline);
}

async function example(name: string) {
	const path = join(projectDirectory, `examples/quickstart/${name}.yaml`);
	const resource = parse(await readFile(path, "utf8"));
	resource.metadata.namespace = namespace;
	return resource;
}

async function startRun(): Promise<string> {
	const created = await kubectl(
		"create",
		inShop,
		"--output=name",
		`--filename=${join(projectDirectory, "examples/quickstart/run/")}`,
	);
	return created.trim().split("/").at(-1)!;
}

export function endOf(run: string): Promise<RunStatus> {
	return vi.waitFor(
		async () => {
			const { status } = await get<{ status?: RunStatus }>(
				`run.tidemill.dev/${run}`,
				inShop,
			);
			expect(status?.phase).toMatch(/^(Succeeded|Failed|Cancelled)$/);
			return status!;
		},
		{ timeout: 180_000, interval: 250 },
	);
}

/** As a user does it in a cluster: with a Pod that mounts the claim. */
async function query<Row>(sql: string): Promise<Row[]> {
	const { status } = await get<{ status: { tableName: string } }>(
		"pipeline/orders",
		inShop,
	);
	const name = `query-${randomUUID().slice(0, 8)}`;
	const statement = sql.replaceAll("$table", `"${status.tableName}"`);
	const lines = await runPod(name, namespace, {
		...scriptPod("", {
			command: [
				"tidemill",
				"sql",
				`--file=/warehouse/${file}`,
				"--format=json",
				statement,
			],
			volumeMounts: [{ name: claim, mountPath: "/warehouse" }],
		}),
		volumes: [{ name: claim, persistentVolumeClaim: { claimName: claim } }],
	});
	return lines
		.split("\n")
		.filter(Boolean)
		.map((line) => JSON.parse(line) as Row);
}
