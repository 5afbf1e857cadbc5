import { findCondition } from "../../packages/kube/conditions.ts";
import type { Pod } from "../../packages/kube/kinds.ts";
import { rfc3339 } from "../../packages/kube/resource.ts";
import type { ContainerState } from "./container.ts";
import type {
	ContainerStatus,
	PodCondition,
	PodFailure,
	PodStatus,
} from "./pod.ts";
import { nodeAddress } from "./registration.ts";

/**
 * A Pod's status as kubelet reports it. Keeps the start time, and the times of conditions that didn't flip.
 * @param containers the state of each container by name. A missing container has yet to start.
 * @param failure why the node ends the Pod. It decides the phase once no container runs.
 */
export function podStatus(
	pod: Pod,
	containers: ReadonlyMap<string, ContainerState>,
	failure: PodFailure | undefined,
	nowMs: number,
): PodStatus {
	const states = pod.spec!.containers.map(
		({ name }) => containers.get(name) ?? notYet,
	);
	const phase = phaseOf(states, failure);
	return {
		...(pod.metadata.generation !== undefined && {
			observedGeneration: pod.metadata.generation,
		}),
		phase,
		...(failure && { reason: failure.reason, message: failure.message }),
		startTime: pod.status?.startTime ?? rfc3339(nowMs),
		hostIP: nodeAddress,
		hostIPs: [{ ip: nodeAddress }],
		podIP: nodeAddress,
		podIPs: [{ ip: nodeAddress }],
		conditions: conditionsOf(pod, phase, states, failure, nowMs),
		containerStatuses: pod.spec!.containers.map(({ name, image }, index) => {
			const state = states[index]!;
			const isRunning = state.phase === "running";
			const pid = state.phase === "waiting" ? undefined : state.pid;
			return {
				name,
				image: image ?? "",
				// No image was pulled: the process runs from this checkout.
				imageID: "",
				...(pid !== undefined && { containerID: `process://${pid}` }),
				restartCount: 0,
				ready: isRunning,
				started: isRunning,
				state: containerState(state),
				lastState: {},
			};
		}),
	};
}

const notYet: ContainerState = {
	phase: "waiting",
	reason: "ContainerCreating",
};

function phaseOf(
	states: ContainerState[],
	failure: PodFailure | undefined,
): "Pending" | "Running" | "Succeeded" | "Failed" {
	if (states.every(({ phase }) => phase === "waiting")) return "Pending";
	if (!states.every((state) => state.phase === "terminated")) return "Running";
	const succeeded = !failure && states.every(({ exitCode }) => exitCode === 0);
	return succeeded ? "Succeeded" : "Failed";
}

function containerState(
	state: ContainerState,
): NonNullable<ContainerStatus["state"]> {
	if (state.phase === "waiting") {
		const { reason, message } = state;
		return { waiting: { reason, ...(message && { message }) } };
	}
	if (state.phase === "running")
		return { running: { startedAt: rfc3339(state.startedAtMs) } };
	const { exitCode, signal, reason, message, startedAtMs, finishedAtMs } =
		state;
	return {
		terminated: {
			exitCode,
			...(signal !== undefined && { signal }),
			reason,
			...(message && { message }),
			...(startedAtMs !== undefined && { startedAt: rfc3339(startedAtMs) }),
			finishedAt: rfc3339(finishedAtMs),
		},
	};
}

function conditionsOf(
	pod: Pod,
	phase: "Pending" | "Running" | "Succeeded" | "Failed",
	states: ContainerState[],
	failure: PodFailure | undefined,
	nowMs: number,
): PodCondition[] {
	const unready = pod
		.spec!.containers.filter((_, index) => states[index]!.phase !== "running")
		.map(({ name }) => name);
	const hasEnded = phase === "Succeeded" || phase === "Failed";
	const readiness = {
		...flag(unready.length === 0),
		...(phase === "Succeeded" && { reason: "PodCompleted" }),
		...(phase === "Failed" && { reason: "PodFailed" }),
		...(!hasEnded &&
			unready.length > 0 && {
				reason: "ContainersNotReady",
				message: `containers with unready status: [${unready.join(" ")}]`,
			}),
	};
	const conditions = [
		{ type: "PodReadyToStartContainers", ...flag(!hasEnded) },
		{ type: "Initialized", ...flag(true) },
		{ type: "Ready", ...readiness },
		{ type: "ContainersReady", ...readiness },
		{ type: "PodScheduled", ...flag(true) },
		...(failure?.isDisruption
			? [
					{
						type: "DisruptionTarget",
						...flag(true),
						reason: "TerminationByKubelet",
						message: failure.message,
					},
				]
			: []),
	];
	return conditions.map((condition) => {
		const before = findCondition(pod.status?.conditions, condition.type);
		const lastTransitionTime =
			before?.status === condition.status
				? before.lastTransitionTime
				: undefined;
		return {
			...condition,
			lastTransitionTime: lastTransitionTime ?? rfc3339(nowMs),
		};
	});
}

function flag(isTrue: boolean): Pick<PodCondition, "status"> {
	return { status: isTrue ? "True" : "False" };
}
