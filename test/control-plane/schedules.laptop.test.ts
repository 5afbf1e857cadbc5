import { expect, test, vi } from "vitest";
import {
	type Pipeline,
	type PipelineSpec,
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
	succeeded,
	wait,
} from "../support/fixtures/control-plane/run-scene.ts";

/* What becomes of the times of a schedule, which passed while no operator was there. */

const scene = RunScene.use();
const dayMs = 86_400_000;
const { updateTime, lastMs } = dailySlot;
/** Of the Run of the last slot. */
const name = `clock-${lastMs / 60_000}`;

/** A Pipeline "clock" that runs every day, and did so for the last time some days ago. */
async function missSlots(spec: Partial<PipelineSpec> = {}): Promise<void> {
	await scene.createPipeline("clock", {
		schedule: { type: "Daily", updateTime, timeZone: "UTC" },
		...spec,
	});
	await vi.waitFor(async () => {
		expect((await statusOf())?.schedule?.hash).toBeDefined();
	}, wait);
	const since = rfc3339(lastMs - 5 * dayMs);
	await client.patch(
		pipelineKind,
		"clock",
		scene.namespace,
		{ status: { schedule: { since } } },
		"merge",
		{ subresource: "status" },
	);
}

async function statusOf() {
	const { namespace } = scene;
	return (await client.get<Pipeline>(pipelineKind, "clock", namespace))!.status;
}

async function runs(): Promise<Run[]> {
	const { namespace } = scene;
	return (await client.list<Run>(runKind, { namespace })).items;
}

/** Waits for an Event about the Pipeline; returns its notes. */
function told(reason: string): Promise<string[]> {
	const { namespace } = scene;
	return vi.waitFor(async () => {
		const { items } = await client.list(kinds.kubeEvent, { namespace });
		const notes = items.filter(
			(event) => event.regarding?.name === "clock" && event.reason === reason,
		);
		expect(notes).not.toEqual([]);
		return notes.map(({ note }) => note!);
	}, wait);
}

test("of the slots that were missed the latest is made up for, once, by a Run named for its minute", async () => {
	await missSlots();
	await scene.phaseBecomes(name, "Running");
	await scene.endPod(name, 0, succeeded);
	await scene.phaseBecomes(name, "Succeeded");
	expect((await scene.statusOfRun(name)).trigger).toBe("Schedule");
	await vi.waitFor(async () => {
		expect(await statusOf()).toMatchObject({
			phase: "Ready",
			lastScheduleTime: rfc3339(lastMs),
			nextRunTime: rfc3339(lastMs + dayMs),
			lastRun: { name, phase: "Succeeded" },
		});
	}, wait);
	expect(await runs()).toHaveLength(1);
});

test("a slot that is missed by more than startingDeadlineSeconds is left out, and that is told once", async () => {
	await missSlots({ startingDeadlineSeconds: 1 });
	const at = rfc3339(lastMs);
	expect(await told("MissSchedule")).toEqual([
		`The Run of ${at} could not start within spec.startingDeadlineSeconds (1), so this scheduled time is skipped. The operator was too late.`,
	]);
	await vi.waitFor(async () => {
		expect((await statusOf())?.schedule?.since).toBe(at);
	}, wait);
	// Looked at again it is no news.
	await client.patch(
		pipelineKind,
		"clock",
		scene.namespace,
		{ spec: { displayName: "Clock" } },
		"merge",
	);
	await vi.waitFor(async () => {
		expect((await statusOf())?.observedGeneration).toBe(2);
	}, wait);
	expect(await told("MissSchedule")).toHaveLength(1);
	expect(await runs()).toEqual([]);
});

test("a slot for which another Pipeline's Run has the name is left out, and that is told", async () => {
	await scene.createRun(name, "someone-elses");
	await missSlots();
	await told("RunNameTaken");
	await vi.waitFor(async () => {
		expect(await statusOf()).toMatchObject({
			lastScheduleTime: rfc3339(lastMs),
			phase: "Ready",
		});
	}, wait);
	const [run, ...others] = await runs();
	expect(others).toEqual([]);
	expect(run?.metadata.ownerReferences).toBeUndefined();
	expect((await statusOf())?.activeRun).toBeUndefined();
});
