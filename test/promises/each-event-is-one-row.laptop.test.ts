import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Run } from "../../crds/generated/types.ts";
import { killLoad } from "../support/faults/load-process.ts";
import { type EventFlow, startFlow } from "../support/senders/event-flow.ts";
import {
	applyQuickstart,
	type Quickstart,
} from "../support/senders/quickstart.ts";
import {
	type LocalMode,
	openLocalMode,
} from "../support/servers/local-mode.ts";

/* README: "Each event is one row." The servers on an event's way die in answered-event-is-kept.laptop.test.ts. */

let local: LocalMode;
let quickstart: Quickstart;
let flow: EventFlow;

beforeAll(async () => {
	local = await openLocalMode("one-row");
	quickstart = await applyQuickstart(local);
	flow = startFlow(quickstart, { pauseMs: 50 });
});

afterAll(() => flow?.stop());

test.each([
	"operator",
	"kube-apiserver",
	"etcd",
	"kube-controller-manager",
	"node",
])("a Run ends, though %s is killed while it is under way", async (victim) => {
	await flow.untilMore(50);
	const run = await quickstart.startRun();
	await local.killAndAwait(victim);
	const { phase } = await quickstart.endOf(run);
	expect(phase).toMatch(/^(Succeeded|Failed)$/);
});

test("a Run ends, though its load is killed", async () => {
	await flow.untilMore(50);
	const { namespace } = (await local.resource<Run>("get", "source/shop"))
		.metadata;
	const file = join(local.home, "warehouse", namespace!, "warehouse.duckdb");
	// While another process reads the file, a load waits.
	const reader = await DuckDBInstance.create(file, {
		access_mode: "READ_ONLY",
	});
	const run = await quickstart.startRun();
	try {
		await killLoad(local.home);
	} finally {
		reader.closeSync();
	}
	expect(await quickstart.endOf(run)).toMatchObject({ phase: "Succeeded" });
});

test("after all of that each event is one row", async () => {
	await flow.stop();
	await quickstart.runPipeline();
	expect(await flow.brokenPromises()).toEqual([]);
});
