import { join } from "node:path";
import type { Pod } from "../../packages/kube/kinds.ts";

/** Where the process node keeps what it needs, below TIDEMILL_HOME. */
export interface NodeDirectories {
	/** One directory a Pod, {@link PodDirectory}. */
	pods: string;
	/** `<namespace>/<claim>`: a claim's data. It survives the claim: only its owner removes it. */
	volumes: string;
}

export function nodeDirectories(home: string): NodeDirectories {
	return { pods: join(home, "pods"), volumes: join(home, "volumes") };
}

/** One Pod's files. Only the owner can read them (0700), because they include Secrets. */
export class PodDirectory {
	readonly path: string;

	constructor(nodeDirectories: NodeDirectories, pod: PodIdentity) {
		const { namespace, name, uid } = pod;
		this.path = join(nodeDirectories.pods, `${namespace}_${name}_${uid}`);
	}

	/** Removed when the Pod has ended. */
	get volumes(): string {
		return join(this.path, "volumes");
	}

	volume(name: string): string {
		return join(this.volumes, name);
	}

	log(container: string): string {
		return join(this.path, `${container}.log`);
	}

	terminationMessage(container: string): string {
		return join(this.path, `${container}.termination`);
	}

	/** The process that was started, {@link file://../machine/identity.ts ProcessIdentity}. */
	processRecord(container: string): string {
		return join(this.path, `${container}${processRecordSuffix}`);
	}
}

export const processRecordSuffix = ".process.json";

export interface PodIdentity {
	namespace: string;
	name: string;
	uid: string;
}

export function identityOf({ metadata }: Pod): PodIdentity {
	return {
		namespace: metadata.namespace!,
		name: metadata.name,
		uid: metadata.uid!,
	};
}

/** The Pod that a directory's name stands for. None of the three parts can contain a `_`. */
export function parsePodDirectory(name: string): PodIdentity | undefined {
	const [namespace, pod, uid, ...rest] = name.split("_");
	return namespace && pod && uid && rest.length === 0
		? { namespace, name: pod, uid }
		: undefined;
}

/** The parts of a Pod, as they are on the wire. */
export type PodSpec = NonNullable<Pod["spec"]>;
export type PodContainer = PodSpec["containers"][number];
export type PodVolume = NonNullable<PodSpec["volumes"]>[number];

export type PodStatus = NonNullable<Pod["status"]>;
export type PodCondition = NonNullable<PodStatus["conditions"]>[number];
export type ContainerStatus = NonNullable<
	PodStatus["containerStatuses"]
>[number];

/** Why the node ends a Pod or doesn't start it. Becomes reason and message of the Pod's status. */
export interface PodFailure {
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
	unsupported: (message: string): PodFailure => ({
		reason: "Unsupported",
		message,
	}),
} as const;
