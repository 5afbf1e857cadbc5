import type { Pod } from "../../packages/kube/kinds.ts";
import type { PodContainer } from "./pod.ts";

/**
 * Why the process node can't run a Pod, for people; undefined when it can.
 * @param image the only image whose command this machine has.
 */
export function unsupported(
	{ spec }: Pick<Pod, "spec">,
	image: string,
): string | undefined {
	if (!spec) return "the Pod has no spec";
	const foreign = spec.containers.find(
		(container) => container.image !== image,
	);
	if (foreign)
		return `local mode has no container engine and runs only the image ${image}; container "${foreign.name}" has the image ${foreign.image}`;
	if (spec.initContainers?.length)
		return `local mode runs no init containers; remove "${spec.initContainers[0]!.name}"`;
	if (spec.restartPolicy !== "Never")
		return `local mode starts a container once; set restartPolicy: Never (it is ${spec.restartPolicy})`;
	for (const container of spec.containers) {
		const reason = unsupportedContainer(container);
		if (reason) return `container "${container.name}": ${reason}`;
	}
	for (const volume of spec.volumes ?? []) {
		const type = Object.keys(volume).find((field) => field !== "name");
		if (type && !volumeTypes.includes(type))
			return `volume "${volume.name}" is of type ${type}; local mode has ${volumeTypes.join(", ")}${hints[type] ?? ""}`;
	}
	return undefined;
}

/** What the Jobs of Tidemill use. */
const volumeTypes = ["secret", "emptyDir", "hostPath", "persistentVolumeClaim"];

const hints: Record<string, string> = {
	projected:
		" (set automountServiceAccountToken: false if it holds the ServiceAccount's token)",
};

function unsupportedContainer(container: PodContainer): string | undefined {
	if (container.command?.length !== 1 || container.command[0] !== "tidemill")
		return `its command must be ["tidemill"], with everything else in args; it is ${JSON.stringify(container.command ?? [])}`;
	if (container.envFrom?.length)
		return "local mode has no envFrom; list the variables in env, or mount the Secret as a volume";
	const variable = container.env?.find(({ valueFrom }) => valueFrom);
	if (variable)
		return `local mode has no valueFrom; give variable ${variable.name} a value, or mount the Secret as a volume`;
	const mount = container.volumeMounts?.find(
		({ subPath, subPathExpr }) => subPath || subPathExpr,
	);
	if (mount)
		return `local mode has no subPath; mount the whole volume at ${mount.mountPath}`;
	return undefined;
}
