/** Why the node ends a Pod or doesn't start it. Becomes reason and message of the Pod's status. */
export interface Failure {
	reason: string;
	message: string;
	/** The Pod is not to blame: its Job retries without counting it (KEP-3329). */
	isDisruption?: boolean;
}

/** The table of failures. */
export const failures = {
	/** In kubelet's words. */
	deadlineExceeded: {
		reason: "DeadlineExceeded",
		message: "Pod was active on the node longer than the specified deadline",
	},
	nodeRestarted: {
		reason: "NodeRestarted",
		message:
			"The process node restarted and ended the processes of its former run, so that none runs unobserved.",
		isDisruption: true,
	},
	nodeStopped: {
		reason: "Terminated",
		message: "The process node is stopping and ends its processes.",
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
