import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Pod } from "../../kube/kinds.ts";
import { containerEnv, expandVariables } from "./container-env.ts";
import type { ProcessSpec } from "./container-process.ts";
import { type Mount, toHostPath } from "./host-path.ts";
import type { NodeDirectories, PodDirectory } from "./pod-directory.ts";
import type { Container } from "./pod-spec.ts";
import type { Sources } from "./sources.ts";
import { makeVolume } from "./volumes.ts";

/**
 * Makes a Pod's volumes and says which process each container is, by its name. Nothing is started.
 * Throws {@link file://./config-error.ts ConfigError} when something that the Pod refers to is missing.
 * @param tidemill path of the command that the image would have as `tidemill`.
 */
export async function planProcesses(
	pod: Pod,
	sources: Sources,
	nodeDirectory: NodeDirectories,
	directory: PodDirectory,
	tidemill: string,
): Promise<Map<string, ProcessSpec>> {
	await mkdir(directory.path, { recursive: true, mode: 0o700 });
	const volumes = new Map<string, string>();
	for (const volume of pod.spec?.volumes ?? [])
		volumes.set(
			volume.name,
			await makeVolume(volume, pod, sources, nodeDirectory, directory),
		);
	const specs = new Map<string, ProcessSpec>();
	for (const container of pod.spec!.containers) {
		const mounts = await mountsOf(container, volumes, directory);
		const wanted = await containerEnv(container, pod, sources);
		const env = Object.entries(wanted).map(([name, value]) => [
			name,
			toHostPath(value, mounts),
		]);
		specs.set(container.name, {
			command: tidemill,
			args: (container.args ?? []).map((arg) =>
				toHostPath(expandVariables(arg, wanted), mounts),
			),
			env: { ...imageEnvironment(), ...Object.fromEntries(env) },
			workingDirectory: container.workingDir
				? toHostPath(container.workingDir, mounts)
				: directory.path,
			recordFile: directory.processRecord(container.name),
		});
	}
	return specs;
}

async function mountsOf(
	container: Container,
	volumes: Map<string, string>,
	directory: PodDirectory,
): Promise<Mount[]> {
	const message = {
		containerPath: container.terminationMessagePath ?? "/dev/termination-log",
		hostPath: directory.terminationMessage(container.name),
	};
	await writeFile(message.hostPath, "", { mode: 0o600 });
	const mounts: Mount[] = [message];
	for (const { name, mountPath, subPath } of container.volumeMounts ?? []) {
		const hostPath = join(volumes.get(name)!, subPath ?? "");
		if (subPath && !existsSync(hostPath))
			await mkdir(hostPath, { recursive: true });
		mounts.push({ containerPath: mountPath, hostPath });
	}
	return mounts;
}

/** What an image would bring along. Nothing else is inherited: the node has credentials of its own. */
function imageEnvironment(): Record<string, string> {
	const names = ["PATH", "HOME", "LANG"] as const;
	return Object.fromEntries(
		names.flatMap((name) => {
			const value = process.env[name];
			return value === undefined ? [] : [[name, value]];
		}),
	);
}
