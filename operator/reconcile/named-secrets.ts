import type {
	Destination,
	Pipeline,
	Source,
} from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import { kinds, type Secret } from "../../packages/kube/kinds.ts";
import { keyOf, textOf } from "../../packages/kube/resource.ts";
import type { Informer } from "../../packages/kube/watch/informer.ts";
import {
	type NoRoom,
	PartInformer,
} from "../../packages/kube/watch/part-informer.ts";
import type { Logger } from "../../packages/service/log.ts";
import { fetchLabelled, keyNamer } from "./named-keys.ts";
import {
	credentialSecrets,
	secretsOfSource,
	webhookSecrets,
} from "./secret-names.ts";

/** Of one value. The largest that people need are bundles of certificates, of 230 KB. */
const maxValueBytes = 384 * 1024;
/** Of all values that the resources of a namespace name, in Base64, beside what each Secret has free. */
const room = 4 * 1024 ** 2;
/** A token or a password takes no room, so an account's large Secrets don't keep it from its small ones. */
const freeLength = 1_024;

/** A Secret of which only what resources name is held. */
export type HeldSecret = Secret & {
	/** What is wrong with the size of a value, by its key. */
	tooLarge?: Readonly<Record<string, string>>;
};

type Part = Pick<HeldSecret, "data" | "tooLarge">;

interface Namers {
	sources: Informer<Source>;
	destinations: Informer<Destination>;
	pipelines: Informer<Pipeline>;
}

/** All Secrets, and of those with the label what resources name. The metadata of others is for a message to who forgot the label. */
export function namedSecrets(
	client: KubeClient,
	objects: Informer<Secret>,
	{ sources, destinations, pipelines }: Namers,
	log: Logger,
): PartInformer<HeldSecret, Part> {
	const namers = [
		keyNamer(sources, secretsOfSource),
		keyNamer(destinations, credentialSecrets),
		keyNamer(pipelines, webhookSecrets),
	];
	const keysOf = (secret: Secret): string[] => {
		if (secret.metadata.labels?.[label.use] !== "true") return [];
		const keys = namers.flatMap(({ keysOf }) => keysOf(textOf(keyOf(secret))));
		return [...new Set(keys)].sort();
	};
	const secrets = new PartInformer<HeldSecret, Part>({
		objects,
		wanted: (secret) => keysOf(secret).join() || undefined,
		versionOf: ({ metadata }) => metadata.resourceVersion!,
		async read(secret) {
			const valuesOf = keysOf(secret);
			const notOlderThan = secret.metadata.resourceVersion;
			const found = await fetchLabelled(client, kinds.secret, keyOf(secret), {
				valuesOf,
				notOlderThan,
			});
			return found && partOf(found, valuesOf);
		},
		joined: (secret, part, noRoom) => ({
			...secret,
			...part,
			...(noRoom && { tooLarge: fullText(keysOf(secret), noRoom) }),
		}),
		room,
		after: [sources, destinations, pipelines],
		log,
	});
	for (const { onNames } of namers) onNames((key) => secrets.look(key));
	return secrets;
}

/** What is held of a Secret: the values of these keys, and their size. */
export function partOf(
	{ data = {} }: Secret,
	keys: readonly string[],
): { part: Part; size: number } {
	const held: Record<string, string> = {};
	const tooLarge: Record<string, string> = {};
	let length = 0;
	for (const key of keys) {
		const value = data[key];
		if (value === undefined) continue;
		const bytes = Buffer.byteLength(value, "base64");
		if (bytes > maxValueBytes)
			tooLarge[key] = `has ${bytes} bytes, and ${maxValueBytes} is the most`;
		else {
			held[key] = value;
			length += value.length;
		}
	}
	return {
		part: {
			data: held,
			...(Object.keys(tooLarge).length > 0 && { tooLarge }),
		},
		size: Math.max(0, length - freeLength),
	};
}

function fullText(
	keys: readonly string[],
	{ size, others, room }: NoRoom,
): Record<string, string> {
	const text = `isn't read: with ${size} bytes of Base64 in this Secret, the Secrets that namespace's resources name would have ${size + others}, and ${room} is the most. Name fewer large ones`;
	return Object.fromEntries(keys.map((key) => [key, text]));
}
