import type {
	Job,
	PersistentVolumeClaim,
	Pod,
} from "../../packages/kube/kinds.ts";
import { type DoctorFinding, failed } from "./finding.ts";

/** What Kubernetes says of an object. */
export interface ToldEvent {
	type?: string;
	reason?: string;
	note?: string;
}

/** A Pod of an installation that isn't ready, with what Kubernetes says of it. */
export interface FailingPod {
	pod: Pod;
	/** Of the Pod, the newest last. */
	events: ToldEvent[];
	/** Its claims that have no volume. */
	claims: FailingClaim[];
}

interface FailingClaim {
	claim: PersistentVolumeClaim;
	events: ToldEvent[];
}

/** A Job or workload that lacks Pods, or a Pod that is gone: only its events are left. */
export interface PodlessWorkload {
	/** `job tidemill-setup-1a2b3c4d`, for example. */
	name: string;
	namespace: string;
	events: ToldEvent[];
}

/** Whether Kubernetes has work to do for the Pod before it serves. A Pod that is being deleted needn't serve. */
export function isTroubled({ metadata, status }: Pod): boolean {
	if (metadata.deletionTimestamp || status?.phase === "Succeeded") return false;
	return !status?.conditions?.some(
		({ type, status }) => type === "Ready" && status === "True",
	);
}

/** The names of the claims that a Pod mounts. */
export function claimNamesOf({ spec }: Pod): string[] {
	return (spec?.volumes ?? []).flatMap(
		({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [],
	);
}

/** A Job that has neither ended nor a Pod. */
export function isPodless(job: Job, pods: readonly Pod[]): boolean {
	const isOver = job.status?.conditions?.some(
		({ type, status }) => type === "Complete" && status === "True",
	);
	return (
		!isOver &&
		!pods.some(({ metadata }) =>
			metadata.ownerReferences?.some(({ uid }) => uid === job.metadata.uid),
		)
	);
}

/** Why a Pod doesn't serve, in Kubernetes' own words, and what to do. */
export function podFinding({ pod, events, claims }: FailingPod): DoctorFinding {
	const { name, namespace } = pod.metadata;
	const say = (message: string, advice: string) =>
		failed(`pod ${name}`, message, advice);
	const describe = `kubectl describe pod ${name} -n ${namespace}`;
	const unscheduled = pod.status?.conditions?.find(
		({ type, status }) => type === "PodScheduled" && status === "False",
	);
	if (unscheduled && claims.length > 0)
		return say(claims.map(claimWords).join(" "), adviceOn.claims);
	if (unscheduled)
		return say(
			`${unscheduled.reason}: ${unscheduled.message}`,
			/PersistentVolumeClaim/.test(unscheduled.message ?? "")
				? adviceOn.claims
				: adviceOn.room,
		);
	const statuses = [
		...(pod.status?.initContainerStatuses ?? []),
		...(pod.status?.containerStatuses ?? []),
	];
	for (const { image, state, lastState, restartCount } of statuses) {
		const { waiting, terminated } = state ?? {};
		if (
			waiting?.reason &&
			/^(ErrImage|Image|InvalidImage)/.test(waiting.reason)
		)
			return say(
				`${waiting.reason}: ${noteOf(events, "Failed") ?? waiting.message ?? image}`,
				adviceOn.image,
			);
		const ended = terminated ?? lastState?.terminated;
		if (ended && ended.exitCode !== 0)
			return say(
				`its process ended ${restartCount ? `${restartCount} times, last ` : ""}with exit code ${ended.exitCode} (${ended.reason})${ended.message ? `: ${ended.message.trim()}` : ""}`,
				`Its log says why: kubectl logs ${name} -n ${namespace} --previous`,
			);
		if (waiting?.message)
			return say(`${waiting.reason}: ${waiting.message}`, `See: ${describe}`);
	}
	const last = events.findLast(({ type }) => type === "Warning");
	return say(
		last ? `${last.reason}: ${last.note}` : "it is starting",
		last?.reason === "Unhealthy"
			? `Its log says what it waits for: kubectl logs ${name} -n ${namespace}`
			: `See: ${describe}`,
	);
}

/** Why a Pod isn't there. */
export function podlessFinding({
	name,
	namespace,
	events,
}: PodlessWorkload): DoctorFinding {
	const last = events.findLast(({ type }) => type === "Warning");
	const pulling = noteOf(events, "Failed");
	const cause = pulling
		? `Failed: ${pulling}`
		: last && `${last.reason}: ${last.note}`;
	return failed(
		name,
		cause
			? `it lacks a Pod. ${cause}`
			: "it lacks a Pod, and Kubernetes doesn't say why",
		/image/i.test(pulling ?? "")
			? adviceOn.image
			: last?.reason === "FailedScheduling"
				? adviceOn.room
				: `See: kubectl get events -n ${namespace}`,
	);
}

const adviceOn = {
	image:
		"Check the image's name in the chart's values (image, nats.image, s3.image), imagePullSecrets, and whether the node reaches the registry.",
	room: "Give the cluster a node with room, or ask for less: docs/install.md says what an installation needs, and each part's `resources` is a value of the chart.",
	claims:
		"`kubectl get storageclass` lists the classes. Mark one as the default, or name it in nats.storage.storageClassName and s3.storage.storageClassName.",
};

function claimWords({ claim, events }: FailingClaim): string {
	const last = events.at(-1);
	const { name } = claim.metadata;
	return last
		? `The claim ${name} has no volume. ${last.reason}: ${last.note}.`
		: `The claim ${name} has no volume yet.`;
}

function noteOf(events: ToldEvent[], reason: string): string | undefined {
	// The second "Failed" only names the first one's reason.
	return events.findLast(
		(event) => event.reason === reason && !event.note?.startsWith("Error:"),
	)?.note;
}
