import { type Source, sourceKind } from "../../../crds/generated/types.ts";
import { fieldManager } from "../../../crds/labels.ts";
import type { KubeClient } from "../../../kube/client/client.ts";

/** Throws `Conflict` if the Source has changed since it was read, since others may have added finalizers. */
export async function setFinalizers(
	client: KubeClient,
	{ metadata: { name, namespace, resourceVersion } }: Source,
	finalizers: string[],
): Promise<Source> {
	return client.patch<Source>(
		sourceKind,
		name,
		namespace,
		{ metadata: { finalizers, resourceVersion } },
		"merge",
		{ fieldManager },
	);
}
