import { chmod, mkdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Pod } from "../../kube/kinds.ts";
import { ConfigError } from "./config-error.ts";
import type { NodeDirectories, PodDirectory } from "./pod-directory.ts";
import type { Volume } from "./pod-spec.ts";
import type { Sources } from "./sources.ts";
import { volumeFiles } from "./volume-files.ts";

/**
 * Makes a Pod's volume and returns the directory (for some hostPath types: the file) on this machine.
 * Throws {@link ConfigError} when something that it refers to is missing.
 * Files are written once: a Secret that changes later is seen by the next Pod.
 */
export async function makeVolume(
	volume: Volume,
	pod: Pod,
	sources: Sources,
	nodeDirectory: NodeDirectories,
	directory: PodDirectory,
): Promise<string> {
	if (volume.hostPath) return hostDirectory(volume.hostPath);
	if (volume.persistentVolumeClaim) {
		const { claimName } = volume.persistentVolumeClaim;
		if (!(await sources.claimExists(claimName)))
			throw new ConfigError(`persistentvolumeclaim "${claimName}" not found`);
		const { volumes } = nodeDirectory;
		return made(join(volumes, pod.metadata.namespace!, claimName));
	}
	const path = await made(directory.volume(volume.name));
	for (const file of await volumeFiles(volume, pod, sources)) {
		const target = join(path, file.path);
		await made(dirname(target));
		// The owner may always write: a start that is tried again writes anew.
		await writeFile(target, file.content, { mode: 0o600 });
		await chmod(target, file.mode | 0o600);
	}
	return path;
}

async function hostDirectory({
	path,
	type,
}: NonNullable<Volume["hostPath"]>): Promise<string> {
	if (type === "DirectoryOrCreate") return made(path);
	if (type && !(await stat(path).catch(() => undefined)))
		throw new ConfigError(
			`hostPath type check failed: ${path} is not a ${type}`,
		);
	return path;
}

async function made(directory: string): Promise<string> {
	await mkdir(directory, { recursive: true });
	return directory;
}
