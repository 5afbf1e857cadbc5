import type { Route } from "../../../contracts/route.ts";
import type { Source } from "../../../crds/generated/types.ts";
import type { Secret } from "../../../kube/kinds.ts";
import type { SealKey } from "../../../service/seal-key.ts";
import { authorize } from "../webhook/authorization.ts";
import { keysSecretName, readKeys } from "../webhook/keys.ts";
import { routeOf } from "../webhook/route.ts";

/**
 * The routes that all Sources want, the oldest Source's first. A Source without keys, or one that is being deleted, has
 * none.
 * @param secretOf A labelled Secret by namespace and name.
 */
export function desiredRoutes(
	sources: Source[],
	secretOf: (namespace: string, name: string) => Secret | undefined,
	sealKey: SealKey | undefined,
): Route[] {
	return sources
		.filter(({ metadata }) => !metadata.deletionTimestamp)
		.toSorted(byAge)
		.flatMap((source) => {
			const { name, namespace } = source.metadata;
			const issued = secretOf(namespace!, keysSecretName(name));
			const keys = issued && readKeys(issued, name);
			if (!keys) return [];
			const { authorization } = authorize(source, {
				secretOf: (name) => secretOf(namespace!, name),
				sealKey,
				sourceKey: keys.sourceKey,
			});
			return [routeOf(source, keys, authorization)];
		});
}

function byAge({ metadata: a }: Source, { metadata: b }: Source): number {
	const text = ({ creationTimestamp, namespace, name }: Source["metadata"]) =>
		`${creationTimestamp} ${namespace}/${name}`;
	return text(a) < text(b) ? -1 : 1;
}
