/** What became of one container of a Pod, before it is put into Kubernetes' words. */
export type ContainerState =
	| { phase: "waiting"; reason: string; message?: string }
	| { phase: "running"; startedAtMs: number; pid: number | undefined }
	| {
			phase: "terminated";
			exitCode: number;
			signal?: number;
			/** One word for machines. */
			reason: string;
			message?: string;
			/** Absent for one that never ran. */
			startedAtMs?: number;
			finishedAtMs: number;
			pid?: number | undefined;
	  };

/** Why a Pod is ended, or can't be started, by the node's will. Becomes reason and message of its status. */
export interface Failure {
	reason: string;
	message: string;
	/** It is not the Pod's fault: its Job tries again without counting (KEP-3329). */
	isDisruption?: boolean;
}

/** The table of reasons. */
export const failures = {
	/** In kubelet's words. */
	deadlineExceeded: {
		reason: "DeadlineExceeded",
		message: "Pod was active on the node longer than the specified deadline",
	},
	nodeRestarted: {
		reason: "NodeRestarted",
		message:
			"The process node was started anew. Processes that it doesn't hold are ended, so that none runs unseen.",
		isDisruption: true,
	},
	nodeStopped: {
		reason: "Terminated",
		message: "The process node is being stopped, and its processes with it.",
		isDisruption: true,
	},
	deleted: {
		reason: "Deleted",
		message: "The Pod was deleted before its containers were started.",
	},
	unsupported: (message: string): Failure => ({
		reason: "Unsupported",
		message,
	}),
} as const;
