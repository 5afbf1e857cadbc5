import { isDeepStrictEqual } from "node:util";
import { label } from "../../crds/labels.ts";
import type {
	KubeClient,
	ListOptions,
} from "../../packages/kube/client/client.ts";
import {
	type KubeObject,
	type ObjectKey,
	type ResourceKind,
	textOf,
} from "../../packages/kube/resource.ts";
import type { Informer } from "../../packages/kube/watch/informer.ts";

/** An object of the namespace that a resource names, and the keys of its data that are read. */
export interface NamedKeys {
	name: string;
	keys: readonly string[];
}

/** Which keys the resources of one kind name, by the object that has them, and when that changes. */
export function keyNamer<T extends KubeObject>(
	informer: Informer<T>,
	namesOf: (resource: T) => readonly NamedKeys[],
) {
	const keyed = (resource: T) =>
		namesOf(resource).map(({ name, keys }) => ({
			key: { namespace: resource.metadata.namespace ?? "", name },
			keys,
		}));
	const naming = informer.index((resource) =>
		keyed(resource).map(({ key }) => textOf(key)),
	);
	return {
		/** @param object as {@link textOf} has it. */
		keysOf: (object: string): string[] =>
			naming(object).flatMap((resource) =>
				keyed(resource)
					.filter(({ key }) => textOf(key) === object)
					.flatMap(({ keys }) => keys),
			),
		onNames(look: (key: ObjectKey) => void): void {
			informer.onChange((resource, previous, deleted) => {
				const now = keyed(resource);
				const before = previous ? keyed(previous) : [];
				if (!deleted && isDeepStrictEqual(now, before)) return;
				for (const { key } of [...now, ...before]) look(key);
			});
		},
	};
}

/**
 * Asks the apiserver for an object. It sends one only if that has the label at that moment, or in a version not older than the given one.
 * @param options `valuesOf` are the keys whose values may be long.
 */
export async function fetchLabelled<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	{ namespace, name }: ObjectKey,
	options: Pick<ListOptions, "notOlderThan" | "valuesOf"> = {},
): Promise<T | undefined> {
	const { items } = await client.list(kind, {
		namespace,
		labelSelector: `${label.use}=true`,
		fieldSelector: `metadata.name=${name}`,
		...options,
	});
	return items.find(({ metadata }) => metadata.name === name);
}
