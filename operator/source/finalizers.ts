import { type Source, sourceKind } from "../../crds/generated/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";

/** Only over the version that was read: others may have finalizers there, too. Throws `Conflict` otherwise. */
export async function setFinalizers(
	client: KubeClient,
	{ metadata: { name, namespace, resourceVersion } }: Source,
	finalizers: string[],
	fieldManager: string,
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
