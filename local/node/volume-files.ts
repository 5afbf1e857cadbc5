import type { Pod } from "../../kube/kinds.ts";
import { ConfigError } from "./config-error.ts";
import { missingObject } from "./container-env.ts";
import { podField } from "./pod-field.ts";
import type { Projection, Volume } from "./pod-spec.ts";
import type { Sources } from "./sources.ts";

export interface VolumeFile {
	/** Relative to the volume, without `..` (the apiserver sees to that). */
	path: string;
	content: Buffer;
	/** Permission bits. */
	mode: number;
}

/**
 * The files of a volume that is made of files: secret, configMap, downwardAPI, projected. None for other volumes.
 * Throws {@link ConfigError} when something is missing that isn't optional.
 */
export async function volumeFiles(
	volume: Volume,
	pod: Pod,
	sources: Sources,
): Promise<VolumeFile[]> {
	const { secret, configMap, downwardAPI, projected } = volume;
	const projections: Projection[] = [
		...(secret
			? [{ secret: { ...secret, name: secret.secretName ?? "" } }]
			: []),
		...(configMap ? [{ configMap }] : []),
		...(downwardAPI ? [{ downwardAPI }] : []),
		...(projected?.sources ?? []),
	];
	const mode =
		(secret ?? configMap ?? downwardAPI ?? projected)?.defaultMode ?? 0o644;
	const files: VolumeFile[] = [];
	for (const projection of projections)
		files.push(...(await projectedFiles(projection, mode, pod, sources)));
	return files;
}

type KeyToPath = NonNullable<
	NonNullable<Projection["secret"]>["items"]
>[number];
type FieldFile = NonNullable<
	NonNullable<Projection["downwardAPI"]>["items"]
>[number];

async function projectedFiles(
	{ secret, configMap, downwardAPI, serviceAccountToken }: Projection,
	mode: number,
	pod: Pod,
	sources: Sources,
): Promise<VolumeFile[]> {
	if (secret) return keyFiles("Secret", secret, mode, sources);
	if (configMap) return keyFiles("ConfigMap", configMap, mode, sources);
	if (serviceAccountToken) {
		const { audience, expirationSeconds, path } = serviceAccountToken;
		const token = await sources.serviceAccountToken(
			audience,
			expirationSeconds,
		);
		return [{ path, content: Buffer.from(token), mode: 0o600 }];
	}
	return (downwardAPI?.items ?? []).map((item) => fieldFile(item, mode, pod));
}

async function keyFiles(
	kind: "Secret" | "ConfigMap",
	ref: { name?: string; items?: KeyToPath[]; optional?: boolean },
	mode: number,
	sources: Sources,
): Promise<VolumeFile[]> {
	const values = await sources.values(kind, ref.name ?? "");
	if (!values) {
		if (ref.optional) return [];
		throw missingObject(kind, ref.name);
	}
	const items: KeyToPath[] =
		ref.items ?? Object.keys(values).map((key) => ({ key, path: key }));
	return items.flatMap((item) => {
		const content = values[item.key];
		if (content) return [{ path: item.path, content, mode: item.mode ?? mode }];
		if (ref.optional) return [];
		throw new ConfigError(
			`references non-existent ${kind === "Secret" ? "secret" : "config"} key: ${item.key}`,
		);
	});
}

function fieldFile(item: FieldFile, mode: number, pod: Pod): VolumeFile {
	const text = podField(pod, item.fieldRef?.fieldPath ?? "") ?? "";
	return {
		path: item.path,
		content: Buffer.from(text),
		mode: item.mode ?? mode,
	};
}
