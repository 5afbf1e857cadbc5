import type { Source } from "../../../crds/generated/types.ts";
import type { Route } from "../../../packages/contracts/route.ts";
import type { RoutePlan } from "../../../packages/contracts/tracking-plan.ts";
import type { Secret } from "../../../packages/kube/kinds.ts";
import type { SecretSealer } from "../../../packages/service/seal-key.ts";
import { followedKeys } from "../shards/followed-keys.ts";
import { authorize } from "../webhook/authorization.ts";
import { keysSecretName, readKeys, type SourceKeys } from "../webhook/keys.ts";
import { routeOf } from "../webhook/route.ts";

/** What routes are made of, beside the Sources. */
export interface RouteFacts {
	/** A labelled Secret by namespace and name. */
	secretOf: (namespace: string, name: string) => Secret | undefined;
	/** The operator has never been let read the namespace's Secrets. */
	isUnknown: (namespace: string) => boolean;
	/** The route in the bucket, by source key. */
	published: (sourceKey: string) => Route | undefined;
	/** The Source's shards in NATS, by source key. */
	shardsOf: (sourceKey: string) => readonly number[];
	/** How many shards there are. */
	shards: number;
	sealKey: SecretSealer | undefined;
	/** What every webhook URL begins with. */
	receiveURL: string;
	/** The plan that judges a Source's events; undefined if it names none. */
	planOf: (source: Source, sourceKey: string) => RoutePlan | undefined;
}

/**
 * The routes that all Sources want, the oldest Source's first. A Source without keys, or one that is being deleted, has
 * none. Where the operator may not read Secrets, a Source keeps the route that it has: senders must not get 404 because a
 * binding is missing.
 */
export function desiredRoutes(sources: Source[], facts: RouteFacts): Route[] {
	const { secretOf, isUnknown, published, sealKey, receiveURL, planOf } = facts;
	return byAge(sources)
		.filter(({ metadata }) => !metadata.deletionTimestamp)
		.flatMap((source) => {
			const { name, namespace } = source.metadata;
			if (isUnknown(namespace!)) {
				const route = published(source.status?.sourceKey ?? "");
				const isOurs = route?.account === namespace && route?.source === name;
				return isOurs ? [route] : [];
			}
			const keys = keysOf(source, facts);
			if (!keys) return [];
			const { authorization } = authorize(source, {
				secretOf: (name) => secretOf(namespace!, name),
				sealKey,
				receiveURL,
				sourceKey: keys.sourceKey,
			});
			const plan = planOf(source, keys.sourceKey);
			return [routeOf(source, keys, authorization, plan)];
		});
}

/** Undefined if the Source has no Secret, or a damaged one. */
export function keysOf(
	source: Source,
	{ secretOf, published, shardsOf, shards }: RouteFacts,
): SourceKeys | undefined {
	const { name, namespace } = source.metadata;
	const issued = secretOf(namespace!, keysSecretName(name));
	const found = issued && readKeys(issued, name);
	if (!found) return undefined;
	const route = published(found.sourceKey);
	return followedKeys(source, found, {
		published: route?.account === namespace ? route : undefined,
		known: shardsOf(found.sourceKey),
		shards,
	});
}

function byAge(sources: Source[]): Source[] {
	const aged = sources.map((source) => {
		const { creationTimestamp, namespace, name } = source.metadata;
		return { source, age: `${creationTimestamp} ${namespace}/${name}` };
	});
	// Not with an age made for each comparison: a list of thousands takes many.
	return aged
		.sort((a, b) => (a.age < b.age ? -1 : 1))
		.map(({ source }) => source);
}
