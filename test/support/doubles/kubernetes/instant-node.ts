import {
	type JobResult,
	jobExitCode,
} from "../../../../packages/contracts/job.ts";
import type { KubeClient } from "../../../../packages/kube/client/client.ts";
import { hasReason } from "../../../../packages/kube/client/errors.ts";
import { kinds, type Pod } from "../../../../packages/kube/kinds.ts";
import { Informer } from "../../../../packages/kube/watch/informer.ts";
import type { Logger } from "../../../../packages/service/log.ts";
import { backoffMs, pause } from "../../../../packages/service/pause.ts";

/** A Pod with the label `ends-with` fails with this code of docs/reference/errors.md; one with `unfit` loads 4 rows, so many of them unfit. */
function resultOf({ metadata }: Pod): JobResult {
	const code = metadata.labels?.["ends-with"];
	const unfit = metadata.labels?.unfit;
	if (unfit !== undefined) {
		const counts = { rows: Number(unfit), values: 4 };
		const column = { column: "total", ...counts, eventID: "event-1" };
		return {
			...{ version: 1, outcome: "Succeeded", rows: 4, bytes: 1, objects: 1 },
			...(counts.rows > 0 && { unfitValues: [column] }),
		};
	}
	if (code === undefined)
		return { version: 1, outcome: "Succeeded", rows: 0, bytes: 0, objects: 0 };
	const error = { code, message: "It failed.", retryable: false };
	return { version: 1, outcome: "Failed", error };
}

/**
 * A node that costs nothing: it reports at once that each Pod of these namespaces has ended, well unless a label says otherwise. Like a kubelet, it repeats
 * a report until the apiserver has stored it (kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle).
 * @param isEnded false leaves a Pod pending for ever.
 */
export function runInstantNode(
	client: KubeClient,
	namespaces: readonly string[],
	log: Logger,
	signal: AbortSignal,
	isEnded: (pod: Pod) => boolean = () => true,
): Promise<void> {
	const pods = new Informer(client, kinds.pod, { namespaces, log });
	pods.onChange((pod, previous, deleted) => {
		if (previous || deleted || pod.status?.phase !== "Pending") return;
		if (!isEnded(pod)) return;
		void untilStored(() => end(client, pod), log, signal);
	});
	return pods.run(signal);
}

async function untilStored(
	write: () => Promise<unknown>,
	log: Logger,
	signal: AbortSignal,
): Promise<void> {
	for (let failures = 1; !signal.aborted; failures++)
		try {
			await write();
			return;
		} catch (err) {
			if (hasReason(err, "NotFound")) return;
			log.debug({ err }, "failed to report the end of a Pod");
			const waitMs = backoffMs(failures, { baseMs: 50, maxMs: 1000 });
			await pause(waitMs, signal);
		}
}

function end(client: KubeClient, pod: Pod): Promise<Pod> {
	const { metadata, spec } = pod;
	const result = resultOf(pod);
	const isDone = result.outcome === "Succeeded";
	const { name, image } = spec!.containers[0]!;
	const terminated = {
		exitCode: isDone ? jobExitCode.succeeded : jobExitCode.permanent,
		message: JSON.stringify(result),
	};
	const container = {
		name,
		image,
		imageID: "",
		ready: false,
		restartCount: 0,
		state: { terminated },
	};
	return client.patch(
		kinds.pod,
		metadata.name,
		metadata.namespace,
		{
			status: {
				phase: isDone ? "Succeeded" : "Failed",
				containerStatuses: [container],
			},
		},
		"merge",
		{ subresource: "status" },
	);
}
