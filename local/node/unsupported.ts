import type { Pod } from "../../kube/kinds.ts";
import type { Container } from "./pod-spec.ts";

/**
 * Why the process node can't run a Pod, for people; undefined when it can.
 * @param image the one image whose command this machine has.
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
			return `volume "${volume.name}" is of type ${type}; local mode has ${volumeTypes.join(", ")}`;
		for (const source of volume.projected?.sources ?? [])
			for (const projection of Object.keys(source))
				if (!projectionTypes.includes(projection))
					return `volume "${volume.name}" projects a ${projection}; local mode has ${projectionTypes.join(", ")}`;
	}
	return undefined;
}

const volumeTypes = [
	"secret",
	"configMap",
	"downwardAPI",
	"projected",
	"emptyDir",
	"hostPath",
	"persistentVolumeClaim",
];

const projectionTypes = [
	"secret",
	"configMap",
	"downwardAPI",
	"serviceAccountToken",
];

function unsupportedContainer(container: Container): string | undefined {
	if (container.command?.length !== 1 || container.command[0] !== "tidemill")
		return `its command must be ["tidemill"], with everything else in args; it is ${JSON.stringify(container.command ?? [])}`;
	for (const { name, valueFrom } of container.env ?? [])
		if (valueFrom?.resourceFieldRef || valueFrom?.fileKeyRef)
			return `variable ${name} comes from a resource field or a file, which local mode doesn't have`;
	const mount = container.volumeMounts?.find(({ subPathExpr }) => subPathExpr);
	if (mount)
		return `volume mount ${mount.mountPath} has a subPathExpr; use subPath`;
	return undefined;
}
