import { expect, vi } from "vitest";
import { type Run, runKind } from "../../../crds/generated/types.ts";
import type { JobError } from "../../../packages/contracts/job.ts";
import type { LocalMode } from "../servers/local-mode.ts";
import { untilKnown } from "./http-client.ts";

/** The resources of examples/quickstart in a local Tidemill, ready to be used. */
export interface Quickstart {
	webhookURL: string;
	/** Starts a Run, waits until it has ended well, and returns its rows. */
	runPipeline(): Promise<number>;
	/** Starts a Run and waits for its end, whatever it is. */
	tryPipeline(): Promise<RunStatus>;
	/** Starts a Run; returns its name. */
	startRun(): Promise<string>;
	/** Waits for a Run's end, whatever it is. */
	endOf(run: string): Promise<RunStatus>;
	/** Asks the destination; `$table` in the query stands for the Pipeline's table. */
	query<Row>(sql: string): Promise<Row[]>;
}

export interface RunStatus {
	phase: string;
	rows?: number;
	dates?: { start: string; end: string };
	dateCount?: number;
	error?: JobError;
}

export async function applyQuickstart(local: LocalMode): Promise<Quickstart> {
	await local.run("kubectl", "apply", "-f", "examples/quickstart/");
	await local.run(
		"kubectl",
		"wait",
		"--for=condition=Ready",
		"--timeout=120s",
		"--all",
		"sources,destinations,pipelines",
	);
	const source = await only<{ status: { webhookURL: string } }>(
		local,
		"sources",
	);
	await untilKnown(source.status.webhookURL);
	const pipeline = await only<{ status: { tableName: string } }>(
		local,
		"pipelines",
	);
	const startRun = () => createRun(local);
	const endOf = (run: string) =>
		vi.waitFor(
			async () => {
				const found = await local.client.get<Run>(
					runKind,
					run,
					local.namespace,
				);
				const phase = found?.status?.phase;
				expect(phase).toMatch(/^(Succeeded|Failed|Cancelled)$/);
				return found!.status as RunStatus;
			},
			{ timeout: 180_000, interval: 200 },
		);
	const tryPipeline = async () => endOf(await startRun());
	return {
		webhookURL: source.status.webhookURL,
		tryPipeline,
		startRun,
		endOf,
		runPipeline: async () => {
			const status = await tryPipeline();
			expect(status).toMatchObject({ phase: "Succeeded" });
			return status.rows!;
		},
		query: async <Row>(sql: string) => {
			const lines = await local.run(
				"tidemill",
				"sql",
				`--namespace=${local.namespace}`,
				"--format=json",
				sql.replaceAll("$table", `"${pipeline.status.tableName}"`),
			);
			return lines
				.split("\n")
				.filter(Boolean)
				.map((line) => JSON.parse(line) as Row);
		},
	};
}

async function only<T>(local: LocalMode, kind: string): Promise<T> {
	const { items } = await local.resource<{ items: T[] }>("get", kind);
	expect(items).toHaveLength(1);
	return items[0]!;
}

/** As the quick start does; returns the Run's name. */
async function createRun(local: LocalMode): Promise<string> {
	const created = await local.run(
		"kubectl",
		"create",
		"-o",
		"name",
		"-f",
		"examples/quickstart/run/",
	);
	return created.trim().split("/").at(-1)!;
}
