import { annotation } from "../../crds/labels.ts";
import { hasReason, type KubeClient } from "../../kube/client/client.ts";
import type {
	KubeObject,
	ObjectMeta,
	ResourceKind,
} from "../../kube/resource.ts";
import type { OnceRequest } from "./request-keys.ts";

/** The mark on what a request makes that is to be carried out once. */
export function requestMark(
	once: OnceRequest | undefined,
): Pick<ObjectMeta, "annotations"> {
	return once ? { annotations: { [annotation.request]: once.digest } } : {};
}

/** What `make` makes, or what the same request has made before under that name. Throws as they do. */
export async function madeOnce<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	{ name, namespace }: { name: string; namespace: string },
	once: OnceRequest | undefined,
	make: () => Promise<T>,
): Promise<T> {
	try {
		return await make();
	} catch (error) {
		if (!once || !hasReason(error, "AlreadyExists")) throw error;
		const there = await client.get<T>(kind, name, namespace);
		const mark = there?.metadata.annotations?.[annotation.request];
		if (there && mark === once.digest) return there;
		throw error;
	}
}
