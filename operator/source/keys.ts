import { createHash, randomBytes } from "node:crypto";
import { annotation, label, managedByTidemill } from "../../crds/labels.ts";
import type { Secret } from "../../kube/kinds.ts";

/** What a Source's URL is made of. */
export interface SourceKeys {
	/** 128 random bits, hex. For life: it names the data. */
	sourceKey: string;
	/** 128 random bits, hex. Rotation changes it alone. */
	urlKey: string;
	/** The stream that takes this Source's events, for life. */
	shard: number;
	/** The value of the Source's annotation rotate-url for which the url key was made; absent if there was none. */
	rotation?: string;
}

/** Events spread over the shards by the source key's own randomness. */
export function newKeys(shards: number, rotation?: string): SourceKeys {
	const sourceKey = newKey();
	return {
		sourceKey,
		urlKey: newKey(),
		shard: Number.parseInt(sourceKey.slice(0, 8), 16) % shards,
		...(rotation && { rotation }),
	};
}

function newKey(): string {
	return randomBytes(16).toString("hex");
}

/** What a merge patch of the Secret says to give it another url key, for this value of the annotation. */
export function urlRotation(rotation: string, resourceVersion: string) {
	return {
		metadata: {
			resourceVersion,
			annotations: { [annotation.rotateURL]: rotation },
		},
		data: { urlKey: Buffer.from(newKey()).toString("base64") },
	};
}

export function keysSecretName(source: string): string {
	return `${source}-webhook-url`;
}

/** The Secret that keeps a Source's keys. It has no owner, so that it outlives the Source and comes back with a restore. */
export function keysSecret(
	source: { namespace: string; name: string },
	keys: SourceKeys,
): Secret {
	return {
		apiVersion: "v1",
		kind: "Secret",
		metadata: {
			name: keysSecretName(source.name),
			namespace: source.namespace,
			labels: {
				...managedByTidemill,
				[label.use]: "true",
				[label.issuedFor]: source.name,
			},
			...(keys.rotation && {
				annotations: { [annotation.rotateURL]: keys.rotation },
			}),
		},
		stringData: {
			sourceKey: keys.sourceKey,
			urlKey: keys.urlKey,
			shard: String(keys.shard),
		},
	};
}

/** The keys in a Secret that was issued for this Source; undefined if it was not, or if a key is damaged. */
export function readKeys(
	secret: Secret,
	source: string,
): SourceKeys | undefined {
	const { labels, annotations } = secret.metadata;
	if (labels?.[label.use] !== "true" || labels[label.issuedFor] !== source)
		return undefined;
	const text = (key: string) =>
		Buffer.from(secret.data?.[key] ?? "", "base64").toString();
	const [sourceKey, urlKey, shard] = ["sourceKey", "urlKey", "shard"].map(text);
	if (!hexKey.test(sourceKey!) || !hexKey.test(urlKey!)) return undefined;
	if (!/^\d{1,5}$/.test(shard!)) return undefined;
	const rotation = annotations?.[annotation.rotateURL];
	return {
		sourceKey: sourceKey!,
		urlKey: urlKey!,
		shard: Number(shard),
		...(rotation && { rotation }),
	};
}

/** SHA-256 in hex: what receivers know of a url key or a token. */
export function digest(secret: string | Uint8Array): string {
	return createHash("sha256").update(secret).digest("hex");
}

const hexKey = /^[0-9a-f]{32}$/;
