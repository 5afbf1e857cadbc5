import { existsSync } from "node:fs";
import type { Pod } from "../../../packages/kube/kinds.ts";
import type { LogSource } from "../log-server.ts";
import { identityOf, type NodeDirectories, PodDirectory } from "../pod.ts";
import type { Sandbox } from "../sandbox.ts";

/**
 * Where the log of a Pod's container is.
 * @param pod the Pod of this name that is bound to this node, if there is one.
 * @param sandboxOf finds the sandbox by uid. After a restart of the node there is only the file.
 */
export function findLog(
	pod: Pod | undefined,
	sandboxOf: (uid: string) => Sandbox | undefined,
	directories: NodeDirectories,
	asked: { namespace: string; name: string; container: string },
): LogSource {
	const { namespace, name, container } = asked;
	if (!pod)
		return { status: 404, message: `pod "${namespace}/${name}" not found` };
	if (!pod.spec?.containers.some((other) => other.name === container))
		return {
			status: 404,
			message: `container "${container}" not found in pod "${name}"`,
		};
	const identity = identityOf(pod);
	const sandbox = sandboxOf(identity.uid);
	const path = new PodDirectory(directories, identity).log(container);
	if (existsSync(path)) return { path, growing: sandbox?.logs.get(container) };
	const state = sandbox?.states.get(container);
	const reason = state?.phase === "running" ? undefined : state?.reason;
	return {
		status: 400,
		message: `container "${container}" in pod "${name}" is waiting to start: ${reason ?? "ContainerCreating"}`,
	};
}
