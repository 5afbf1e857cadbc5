import { fieldManager } from "../../crds/labels.ts";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";

/** Throws `Conflict` if the object has changed since it was read, since others may have added finalizers. */
export async function setFinalizers<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	{ metadata: { name, namespace, resourceVersion } }: T,
	finalizers: string[],
): Promise<T> {
	return client.patch<T>(
		kind,
		name,
		namespace,
		{ metadata: { finalizers, resourceVersion } },
		"merge",
		{ fieldManager },
	);
}
