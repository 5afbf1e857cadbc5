import { chmod, mkdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
	KubeApiError,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import { kinds, type Pod } from "../../packages/kube/kinds.ts";
import { backoffMs } from "../../packages/service/pause.ts";
import type { NodeDirectories, PodDirectory, PodVolume } from "./pod.ts";

/**
 * Makes a Pod's volume and returns its directory on this machine (for some types of hostPath: its file).
 * Throws {@link ConfigError} when something that it refers to is missing.
 * Files are written once: only the next Pod sees a Secret that changes later.
 */
export async function makeVolume(
	volume: PodVolume,
	pod: Pod,
	sources: PodSources,
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

interface SecretFile {
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
	}: NonNullable<PodVolume["secret"]>,
	sources: Pick<PodSources, "secret">,
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
}: NonNullable<PodVolume["hostPath"]>): Promise<string> {
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

/** What the volumes of one Pod may refer to, in the Pod's namespace. */
export interface PodSources {
	/** The values of a Secret by key; undefined when there is no such Secret. */
	secret(name: string): Promise<Record<string, Buffer> | undefined>;
	claimExists(name: string): Promise<boolean>;
}

/**
 * A container can't start because something it refers to is missing. The Pod waits with the reason
 * `CreateContainerConfigError` and this message, and the start is retried.
 */
export class ConfigError extends Error {
	override name = "ConfigError";
}

/** Reads the sources from the apiserver. Throws {@link ConfigError} when the node may not read them. */
export function sourcesOf(
	client: Pick<KubeClient, "get">,
	{ metadata }: Pod,
	wait: (ms: number) => Promise<unknown> = delay,
): PodSources {
	const { namespace } = metadata;
	return {
		secret: async (name) => {
			const secret = await readable(
				() => client.get(kinds.secret, name, namespace),
				wait,
			);
			return secret && decoded(secret.data);
		},
		claimExists: async (name) =>
			(await readable(
				() => client.get(kinds.persistentVolumeClaim, name, namespace),
				wait,
			)) !== undefined,
	};
}

/**
 * Just after the binding the Node authorizer may not yet know that the Pod is ours, and refuses for a moment. That is no news
 * to anybody, so the first refusals aren't reported.
 */
async function readable<T>(
	read: () => Promise<T>,
	wait: (ms: number) => Promise<unknown>,
): Promise<T> {
	for (let refusals = 1; ; refusals++)
		try {
			return await read();
		} catch (error) {
			if (!(error instanceof KubeApiError) || error.status !== 403) throw error;
			if (refusals > quietRefusals) throw new ConfigError(error.message);
			await wait(backoffMs(refusals, refusalBackoff));
		}
}

const quietRefusals = 4;
const refusalBackoff = { baseMs: 100, maxMs: 1_000 };

function decoded(data: Record<string, string> = {}): Record<string, Buffer> {
	return Object.fromEntries(
		Object.entries(data).map(([key, value]) => [
			key,
			Buffer.from(value, "base64"),
		]),
	);
}
