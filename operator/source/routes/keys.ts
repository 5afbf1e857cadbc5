import { createHash, randomBytes } from "node:crypto";
import type { Source } from "../../../crds/generated/types.ts";
import { annotation, label, managedByTidemill } from "../../../crds/labels.ts";
import {
	type OfShards,
	type Route,
	unitedShards,
} from "../../../packages/contracts/route.ts";
import type { Secret } from "../../../packages/kube/kinds.ts";
import { keysSecretName } from "../../reconcile/secret-names.ts";

export { keysSecretName };

/** What a Source's URL consists of. */
export interface SourceKeys {
	/** 128 random bits in hex. Never changes, since it names the data. */
	sourceKey: string;
	/** 128 random bits in hex. Rotation replaces it. */
	urlKey: string;
	/** The stream that takes this Source's new events ({@link file://../shard-loads.ts}). */
	shard: number;
	/** All that may hold its events ({@link file://../../../packages/contracts/route.ts}). */
	shards: number[];
	/** The value of the Source's annotation rotate-url that the url key was made for. */
	rotation?: string;
}

/** What identifies a Source's events. */
export type StoredUnder = Pick<SourceKeys, "sourceKey" | "shard" | "shards">;

/** What the status says of the Source's events; undefined if it never had keys. */
export function storedUnder({ status }: Source): StoredUnder | undefined {
	const { sourceKey, shard, shards = [] } = status ?? {};
	return sourceKey !== undefined && shard !== undefined
		? { sourceKey, shard, shards: unitedShards(shards, [shard]) }
		: undefined;
}

/** What a request to archive says of the shards that exist. */
export function shardsIn(
	stored: StoredUnder | undefined,
	exist = Infinity,
): OfShards {
	const shards = (stored?.shards ?? []).filter((shard) => shard < exist);
	return shards.length > 1 ? { shards } : {};
}

/**
 * Where the events of a Source with these keys are. The status knows, since only the operator writes it. People may write the
 * Secret, which counts alone for a Source that has no status yet, such as one that is restored from a backup.
 */
export function heldUnder(source: Source, keys: SourceKeys): StoredUnder {
	const stored = storedUnder(source);
	return stored?.sourceKey === keys.sourceKey ? stored : keys;
}

/**
 * New keys of a Source whose events go to the shard.
 * @param sourceKey of a Source that has events already: the new URL leads to the same ones.
 */
export function newKeys(
	shard: number,
	{
		rotation,
		sourceKey = newKey(),
		shards = [shard],
	}: {
		rotation?: string | undefined;
		sourceKey?: string | undefined;
		shards?: number[] | undefined;
	} = {},
): SourceKeys {
	const rotated = rotation && { rotation };
	return { sourceKey, urlKey: newKey(), shard, shards, ...rotated };
}

function newKey(): string {
	return randomBytes(16).toString("hex");
}

/** A merge patch of the Secret with a new url key, for this value of the annotation. */
export function urlRotation(rotation: string, resourceVersion: string) {
	return {
		metadata: {
			resourceVersion,
			annotations: { [annotation.rotateURL]: rotation },
		},
		data: { urlKey: Buffer.from(newKey()).toString("base64") },
	};
}

/** A merge patch of the Secret of a Source that moves. */
export function shardsPatch(
	shard: number,
	shards: readonly number[],
	resourceVersion: string,
) {
	const encode = (text: string) => Buffer.from(text).toString("base64");
	return {
		metadata: { resourceVersion },
		data: {
			shard: encode(String(shard)),
			...(shards.length > 1 && { shards: encode(shards.join(",")) }),
		},
	};
}

/** The Secret with a Source's keys. It has no owner, so that it survives deletion and restore of the Source. */
export function keysSecret(
	source: { namespace: string; name: string },
	{ shards = [], ...keys }: Omit<SourceKeys, "shards"> & { shards?: number[] },
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
			...(shards.length > 1 && { shards: shards.join(",") }),
		},
	};
}

/** `invalid`: the Secret was not issued for the Source, or a key is damaged. */
export type FoundKeys = SourceKeys | "absent" | "invalid";

/** @param secret The Secret of the name {@link keysSecretName}; undefined if it doesn't exist. */
export function keysIn(secret: Secret | undefined, source: string): FoundKeys {
	return secret ? (readKeys(secret, source) ?? "invalid") : "absent";
}

/** Undefined if the Secret was not issued for this Source, or if a key is damaged. */
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
	const shards = text("shards");
	if (!/^\d{1,5}$/.test(shard!) || !/^(\d{1,5}(,|$)){0,1000}$/.test(shards))
		return undefined;
	const rotation = annotations?.[annotation.rotateURL];
	return {
		sourceKey: sourceKey!,
		urlKey: urlKey!,
		shard: Number(shard),
		shards: unitedShards(shards.split(",").filter(Boolean).map(Number), [
			Number(shard),
		]),
		...(rotation && { rotation }),
	};
}

/** SHA-256 in hex. Receivers have only the digests of url keys, whose 128 random bits nobody can try out. */
export function digest(secret: string | Uint8Array): string {
	return createHash("sha256").update(secret).digest("hex");
}

const hexKey = /^[0-9a-f]{32}$/;

/** What is known of a Source's shards, whatever its Secret says. */
export interface KnownShards {
	/** The receivers' route; undefined for a Source that is new to NATS. */
	published: Route | undefined;
	/** The Source's shards in NATS. */
	known: readonly number[];
	/** How many shards there are. */
	shards: number;
}

/**
 * The keys that a Source's route is made of. The Secret names the shard, and whoever may write Secrets of the namespace could
 * write another one. So a Source goes to another shard than its route's, or its status's, only if the shards in NATS name it.
 * All that may hold events stay.
 */
export function followedKeys(
	source: Source,
	keys: SourceKeys,
	{ published, known, shards }: KnownShards,
): SourceKeys {
	const held = heldUnder(source, keys);
	const current = published?.shard ?? held.shard;
	const shard = known.includes(keys.shard) ? keys.shard : current;
	// Of those that people wrote, numbers that are no shard cost a request each whenever the events are read.
	const earlier =
		held === keys
			? published
				? []
				: keys.shards.filter((number) => number < shards)
			: held.shards;
	return {
		...keys,
		shard,
		shards: unitedShards([...known, ...earlier, current, shard]),
	};
}
