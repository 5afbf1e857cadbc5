import type { KubeClient } from "../../../packages/kube/client/client.ts";
import type {
	KubeObject,
	ResourceKind,
} from "../../../packages/kube/resource.ts";

/**
 * A double of the apiserver's get, list and delete (kubernetes.io/docs/reference/using-api/api-concepts): it has these
 * objects and records deletions as "Kind name".
 */
export function storedObjects(objects: [{ kind: string }, KubeObject][]): {
	client: KubeClient;
	deleted: string[];
} {
	const deleted: string[] = [];
	const ofKind = ({ kind }: { kind: string }) =>
		objects.filter(([stored]) => stored.kind === kind).map(([, it]) => it);
	const client = {
		get: async (kind: ResourceKind<KubeObject>, name: string) =>
			ofKind(kind).find(({ metadata }) => metadata.name === name),
		list: async (kind: ResourceKind<KubeObject>) => ({
			metadata: {},
			items: ofKind(kind),
		}),
		delete: async ({ kind }: ResourceKind<KubeObject>, name: string) => {
			deleted.push(`${kind} ${name}`);
			return true;
		},
	};
	return { client: client as unknown as KubeClient, deleted };
}
