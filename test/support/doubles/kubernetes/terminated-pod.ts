import type { Pod } from "../../../../packages/kube/kinds.ts";

/**
 * The status of a Pod whose process has ended and left this message at its terminationMessagePath
 * (kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure).
 */
export function terminated(end: {
	exitCode: number;
	message?: string;
	reason?: string;
	finishedAt?: string;
}): NonNullable<Pod["status"]> {
	return {
		containerStatuses: [
			{
				name: "tidemill",
				image: "",
				imageID: "",
				ready: false,
				restartCount: 0,
				state: { terminated: end },
			},
		],
	};
}
