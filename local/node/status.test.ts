import { expect, test } from "vitest";
import { pod } from "../../test/support/fixtures/pod-fixture.ts";
import type { ContainerState } from "./container.ts";
import { failures, type PodStatus } from "./pod.ts";
import { podStatus } from "./status.ts";

const now = Date.parse("2026-01-01T00:01:00Z");
const running: ContainerState = { phase: "running", startedAtMs: now, pid: 7 };
const ended = (exitCode: number): ContainerState => ({
	phase: "terminated",
	exitCode,
	reason: exitCode === 0 ? "Completed" : "Error",
	startedAtMs: now,
	finishedAtMs: now + 1_000,
});
const two = pod(
	{ generation: 1 },
	{
		containers: [
			{ name: "a", image: "ours" },
			{ name: "b", image: "ours" },
		],
	},
);

function statusOf(a?: ContainerState, b?: ContainerState, failure = false) {
	const states = new Map<string, ContainerState>();
	if (a) states.set("a", a);
	if (b) states.set("b", b);
	const why = failure ? failures.nodeRestarted : undefined;
	return podStatus(two, states, why, now);
}

function conditions({ conditions }: PodStatus) {
	return Object.fromEntries(
		conditions!.map(({ type, status, reason }) => [type, reason ?? status]),
	);
}

test.each([
	["Pending", undefined, undefined, false],
	["Running", running, undefined, false],
	["Running", running, running, false],
	["Running", ended(0), running, false],
	["Running", ended(1), running, true],
	["Succeeded", ended(0), ended(0), false],
	["Failed", ended(0), ended(1), false],
	["Failed", ended(0), ended(0), true],
] as const)("the phase is %s", (phase, a, b, failure) => {
	expect(statusOf(a, b, failure).phase).toBe(phase);
});

test("conditions report what runs, in kubelet's words", () => {
	expect(conditions(statusOf(running, running))).toEqual({
		PodReadyToStartContainers: "True",
		Initialized: "True",
		Ready: "True",
		ContainersReady: "True",
		PodScheduled: "True",
	});
	const partly = statusOf(running).conditions!;
	expect(partly.find(({ type }) => type === "Ready")).toMatchObject({
		status: "False",
		reason: "ContainersNotReady",
		message: "containers with unready status: [b]",
	});
	expect(conditions(statusOf(ended(0), ended(0)))).toMatchObject({
		PodReadyToStartContainers: "False",
		Ready: "PodCompleted",
	});
	expect(conditions(statusOf(ended(0), ended(1))).Ready).toBe("PodFailed");
});

test("a status names its generation; only a running container is ready, and its id is the process's", () => {
	const status = statusOf(running);
	expect(status.observedGeneration).toBe(1);
	const [a, b] = status.containerStatuses!;
	expect(a).toMatchObject({
		ready: true,
		started: true,
		containerID: "process://7",
	});
	expect(b).toMatchObject({ ready: false, started: false });
	expect(b).not.toHaveProperty("containerID");
	const [after] = statusOf({ ...ended(0), pid: 7 } as ContainerState, running)
		.containerStatuses!;
	expect(after).toMatchObject({
		ready: false,
		started: false,
		containerID: "process://7",
	});
});

test("an end that isn't the Pod's fault has the condition that costs a Job no retry", () => {
	expect(statusOf(ended(0), ended(137), true).conditions).toContainEqual({
		type: "DisruptionTarget",
		status: "True",
		reason: "TerminationByKubelet",
		message: failures.nodeRestarted.message,
		lastTransitionTime: "2026-01-01T00:01:00Z",
	});
});

test("a condition's time moves only when its status flips", () => {
	const before = {
		...two,
		status: podStatus(two, new Map([["a", running]]), undefined, now - 60_000),
	};
	const states = new Map([
		["a", running],
		["b", running],
	]);
	const after = podStatus(before, states, undefined, now);
	const timeOf = (type: string) =>
		after.conditions!.find((condition) => condition.type === type)!
			.lastTransitionTime;
	expect(after.startTime).toBe("2026-01-01T00:00:00Z");
	expect(timeOf("PodScheduled")).toBe("2026-01-01T00:00:00Z");
	expect(timeOf("Ready")).toBe("2026-01-01T00:01:00Z");
});

test("each container's state is reported in full", () => {
	const killed: ContainerState = {
		...(ended(137) as ContainerState & { phase: "terminated" }),
		signal: 9,
		message: "last words",
	};
	const { containerStatuses } = statusOf(killed, {
		phase: "waiting",
		reason: "CreateContainerConfigError",
		message: 'secret "x" not found',
	});
	expect(containerStatuses!.map(({ state }) => state)).toEqual([
		{
			terminated: {
				exitCode: 137,
				signal: 9,
				reason: "Error",
				message: "last words",
				startedAt: "2026-01-01T00:01:00Z",
				finishedAt: "2026-01-01T00:01:01Z",
			},
		},
		{
			waiting: {
				reason: "CreateContainerConfigError",
				message: 'secret "x" not found',
			},
		},
	]);
});
