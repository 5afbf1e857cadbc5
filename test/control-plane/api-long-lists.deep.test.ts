// In make test: api/resources/newest-first.test.ts
import { expect, inject, onTestFinished, test } from "vitest";
import { type Run, runKind } from "../../crds/generated/types.ts";
import { freePort } from "../../local/machine/ports.ts";
import { processEnvironment } from "../../operator/install/process-environment.ts";
import { mapConcurrently } from "../../packages/fair/fair-limit.ts";
import { memory } from "../../tools/bench/measure/process-cost.ts";
import {
	administrator,
	apiClient,
	newAccount,
} from "../support/fixtures/control-plane/api-fixture.ts";
import { untilReady } from "../support/fixtures/data-plane/receiver.ts";
import { startRole } from "../support/servers/role-server.ts";

const count = 10_000;
const readers = 20;
const mostBytes = 64 * 1024 ** 2;

test(`of ${count} Runs each page is newest first, and ${readers} readers cost the API little`, async () => {
	const { account, tokens } = await newAccount();
	const admin = administrator();
	await mapConcurrently(
		Array.from({ length: count }, (_, index) => index),
		16,
		(index) =>
			admin.create<Run>(runKind, {
				apiVersion: "tidemill.dev/v1alpha1",
				kind: "Run",
				metadata: {
					// The order of names is not that of time.
					name: `run-${String((index * 7_919) % count).padStart(5, "0")}`,
					namespace: account,
				},
				spec: { pipelineRef: { name: index % 2 ? "odd" : "even" } },
			}),
	);
	const port = await freePort();
	const api = await startRole("api", {
		name: "api",
		env: {
			KUBECONFIG: inject("kubeconfig"),
			NATS_URL: "nats://127.0.0.1:9",
			API_PORT: String(port),
			API_RATE_LIMIT: "1000000",
			LOG_LEVEL: "warn",
			...processEnvironment.api,
		},
	});
	onTestFinished(() => api.stop());
	const url = `http://127.0.0.1:${port}`;
	await untilReady({ ...api, url });
	const client = apiClient(url, tokens.viewer);
	const page = async (query: string) => {
		const startMs = performance.now();
		const { body } = await client("GET", `/v1/runs?${query}`);
		const tookMs = performance.now() - startMs;
		return { ...(body as unknown as Page), tookMs };
	};
	// The usual page of one Run, so that all code is loaded and compiled.
	for (let index = 0; index < 20; index++) await page("limit=1&pipeline=none");
	const before = await memory(api.pid!);
	const first = await page("");
	const times: number[] = [];
	await Promise.all(
		Array.from({ length: readers }, async () => {
			for (const query of ["", "pipeline=odd", "limit=500"]) {
				const seen: string[] = [];
				for (let cursor = ""; seen.length < 1_500; ) {
					const found = await page(`${query}${cursor}`);
					times.push(found.tookMs);
					seen.push(...found.items.map((run) => run.createTime));
					cursor = `&cursor=${found.cursor}`;
				}
				expect(seen).toEqual(seen.toSorted().toReversed());
			}
		}),
	);
	const alone = await Promise.all([page("")]);
	const after = await memory(api.pid!);
	const sorted = times.toSorted((a, b) => a - b);
	const mib = (bytes: number) => Math.round(bytes / 1024 ** 2);
	console.log(
		`first page ${Math.round(first.tookMs)} ms; alone ${Math.round(alone[0]!.tookMs)} ms; ${readers} at once: median ${Math.round(sorted[sorted.length >> 1]!)} ms, longest ${Math.round(sorted.at(-1)!)} ms; resident ${mib(before.residentBytes)} MiB, then ${mib(after.residentBytes)}, peak ${mib(after.peakBytes)}`,
	);
	expect(first.total).toBe(count);
	expect(after.residentBytes - before.residentBytes).toBeLessThanOrEqual(
		mostBytes,
	);
}, 600_000);

interface Page {
	items: { name: string; createTime: string }[];
	cursor?: string;
	total: number;
	tookMs: number;
}
