import { chmod, mkdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Pod } from "../../packages/kube/kinds.ts";
import type { NodeDirectories, PodDirectory } from "./pod.ts";
import type { Volume } from "./pod/pod-spec.ts";
import { ConfigError, type Sources } from "./pod/sources.ts";

/**
 * Makes a Pod's volume and returns its directory on this machine (for some types of hostPath: its file).
 * Throws {@link ConfigError} when something that it refers to is missing.
 * Files are written once: only the next Pod sees a Secret that changes later.
 */
export async function makeVolume(
	volume: Volume,
	pod: Pod,
	sources: Sources,
	nodeDirectories: NodeDirectories,
	directory: PodDirectory,
): Promise<string> {
	if (volume.hostPath) return hostDirectory(volume.hostPath);
	if (volume.persistentVolumeClaim) {
		const { claimName } = volume.persistentVolumeClaim;
		if (!(await sources.claimExists(claimName)))
			throw new ConfigError(`persistentvolumeclaim "${claimName}" not found`);
		return made(
			join(nodeDirectories.volumes, pod.metadata.namespace!, claimName),
		);
	}
	const path = await made(directory.volume(volume.name));
	if (!volume.secret) return path;
	for (const file of await secretFiles(volume.secret, sources)) {
		const target = join(path, file.path);
		await made(dirname(target));
		// The owner may always write, because a retried start writes the files again.
		await writeFile(target, file.content, { mode: 0o600 });
		await chmod(target, file.mode | 0o600);
	}
	return path;
}

export interface SecretFile {
	/** Relative to the volume, without `..` (the apiserver sees to that). */
	path: string;
	content: Buffer;
	/** Permission bits. */
	mode: number;
}

/** The files of a Secret's volume. Throws {@link ConfigError} for what is missing and not optional. */
export async function secretFiles(
	{
		secretName = "",
		items,
		optional,
		defaultMode = 0o644,
	}: NonNullable<Volume["secret"]>,
	sources: Pick<Sources, "secret">,
): Promise<SecretFile[]> {
	const values = await sources.secret(secretName);
	if (!values) {
		if (optional) return [];
		// In kubelet's words, which people search for.
		throw new ConfigError(`secret "${secretName}" not found`);
	}
	const wanted =
		items ?? Object.keys(values).map((key) => ({ key, path: key }));
	return wanted.flatMap(({ key, path, mode = defaultMode }: WantedKey) => {
		const content = values[key];
		if (content) return [{ path, content, mode }];
		if (optional) return [];
		throw new ConfigError(`references non-existent secret key: ${key}`);
	});
}

interface WantedKey {
	key: string;
	path: string;
	mode?: number;
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
