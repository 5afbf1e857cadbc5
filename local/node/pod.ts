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
