import {
	hasReason,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import { kinds } from "../../packages/kube/kinds.ts";

/**
 * The answer to a request, or `gone` if it is refused because the namespace is being deleted: Kubernetes may have removed
 * the operator's binding there before the last object. A refusal in a namespace that stays is thrown.
 */
export async function unlessNamespaceEnds<T, Gone>(
	client: KubeClient,
	namespace: string,
	request: () => Promise<T>,
	gone: Gone,
): Promise<T | Gone> {
	try {
		return await request();
	} catch (error) {
		if (!hasReason(error, "Forbidden")) throw error;
		const found = await client.get(kinds.namespace, namespace);
		if (found && !found.metadata.deletionTimestamp) throw error;
		return gone;
	}
}
