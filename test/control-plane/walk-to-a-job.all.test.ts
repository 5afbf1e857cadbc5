import { expect, test, vi } from "vitest";
import {
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
} from "../../crds/generated/types.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { rfc3339 } from "../../packages/kube/resource.ts";
import { dailySlot } from "../support/examples/daily-slot.ts";
import {
	client,
	RunScene,
	wait,
} from "../support/fixtures/control-plane/run-scene.ts";
import { executedFiles } from "../support/walks/executed-files.ts";
import { expectWalk } from "../support/walks/walk-of.ts";

const scene = RunScene.use();

test("CONTRIBUTING.md tells the whole way from a schedule to a Job", async () => {
	const { namespace } = scene;
	const { updateTime, lastMs } = dailySlot;
	await scene.createPipeline("clock", {
		schedule: { type: "Daily", updateTime, timeZone: "UTC" },
	});
	await vi.waitFor(async () => {
		const found = await client.get<Pipeline>(pipelineKind, "clock", namespace);
		expect(found?.status?.schedule?.hash).toBeDefined();
	}, wait);
	const executed = await executedFiles(async () => {
		// A slot has passed.
		const schedule = { since: rfc3339(lastMs - 86_400_000) };
		const status = { status: { schedule } };
		const options = { subresource: "status" } as const;
		await client.patch(
			pipelineKind,
			"clock",
			namespace,
			status,
			"merge",
			options,
		);
		await vi.waitFor(async () => {
			const { items } = await client.list(kinds.job, { namespace });
			expect(items).toHaveLength(1);
			const runs = await client.list<Run>(runKind, { namespace });
			// The Run has seen its Job.
			expect(runs.items[0]?.status?.attempts).toBeDefined();
		}, wait);
	});
	expectWalk(/schedule/, executed);
});
