import { mkdir, writeFile } from "node:fs/promises";
import type { Pod } from "../../packages/kube/kinds.ts";
import type { ProcessSpec } from "./container.ts";
import type { NodeDirectories, PodContainer, PodDirectory } from "./pod.ts";
import { makeVolume, type PodSources } from "./volumes.ts";

/**
 * Makes a Pod's volumes and returns the process of each container, by the container's name. Starts nothing.
 * Throws {@link file://./sources.ts ConfigError} when something that the Pod refers to is missing.
 * @param tidemill path of the command that the image has as `tidemill`.
 */
export async function planProcesses(
	pod: Pod,
	sources: PodSources,
	nodeDirectories: NodeDirectories,
	directory: PodDirectory,
	tidemill: string,
): Promise<Map<string, ProcessSpec>> {
	await mkdir(directory.path, { recursive: true, mode: 0o700 });
	const volumes = new Map<string, string>();
	for (const volume of pod.spec?.volumes ?? [])
		volumes.set(
			volume.name,
			await makeVolume(volume, pod, sources, nodeDirectories, directory),
		);
	const specs = new Map<string, ProcessSpec>();
	for (const container of pod.spec!.containers) {
		const mounts = await mountsOf(container, volumes, directory);
		const wanted = containerEnv(container.env);
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
	container: PodContainer,
	volumes: Map<string, string>,
	directory: PodDirectory,
): Promise<Mount[]> {
	const message = {
		containerPath: container.terminationMessagePath ?? "/dev/termination-log",
		hostPath: directory.terminationMessage(container.name),
	};
	await writeFile(message.hostPath, "", { mode: 0o600 });
	const mounted = (container.volumeMounts ?? []).map(({ name, mountPath }) => ({
		containerPath: mountPath,
		hostPath: volumes.get(name)!,
	}));
	return [message, ...mounted];
}

/** What an image would set. The process inherits nothing else, because the node has credentials of its own. */
function imageEnvironment(): Record<string, string> {
	const names = ["PATH", "HOME", "LANG"] as const;
	return Object.fromEntries(
		names.flatMap((name) => {
			const value = process.env[name];
			return value === undefined ? [] : [[name, value]];
		}),
	);
}

/** The variables of a container, in order. A value may use the variables before it. */
export function containerEnv(
	variables: readonly { name: string; value?: string }[] = [],
): Record<string, string> {
	const env: Record<string, string> = {};
	for (const { name, value = "" } of variables)
		env[name] = expandVariables(value, env);
	return env;
}

/**
 * `$(NAME)` becomes the variable's value, or stays when there is no such variable; `$$` is a dollar sign
 * (k8s.io/kubernetes third_party/forked/golang/expansion).
 */
export function expandVariables(
	text: string,
	env: Record<string, string>,
): string {
	return text.replace(/\$\$|\$\(([^)]*)\)/g, (match, name?: string) =>
		name === undefined ? "$" : Object.hasOwn(env, name) ? env[name]! : match,
	);
}

/** A path that a container sees, and its place on this machine. */
interface Mount {
	containerPath: string;
	hostPath: string;
}

/**
 * Translates a mounted path, or a path below one, to this machine, where a process sees no container's file system. The
 * innermost mount counts. Any other text stays as it is.
 */
export function toHostPath(text: string, mounts: readonly Mount[]): string {
	let innermost: Mount | undefined;
	for (const mount of mounts) {
		const isInside =
			text === mount.containerPath ||
			text.startsWith(`${mount.containerPath.replace(/\/$/, "")}/`);
		const isDeeper =
			mount.containerPath.length > (innermost?.containerPath.length ?? 0);
		if (isInside && isDeeper) innermost = mount;
	}
	return innermost
		? innermost.hostPath +
				text.slice(innermost.containerPath.replace(/\/$/, "").length)
		: text;
}
