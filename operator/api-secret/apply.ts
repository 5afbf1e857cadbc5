import { fieldManager } from "../../crds/labels.ts";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import { kinds, type Secret } from "../../packages/kube/kinds.ts";
import {
	type Result,
	soonest,
} from "../../packages/kube/reconcile/controller.ts";
import type { ApiSecretAction } from "./decide.ts";

/** Does what was decided. Throws `Conflict` if the Secret has changed since it was read. */
export async function applyApiSecret(
	client: KubeClient,
	{ metadata: { name, namespace, uid, resourceVersion } }: Secret,
	actions: ApiSecretAction[],
): Promise<Result | undefined> {
	let result: Result | undefined;
	for (const action of actions)
		switch (action.type) {
			case "setOwners":
				await client.patch(
					kinds.secret,
					name,
					namespace,
					{ metadata: { ownerReferences: action.owners, resourceVersion } },
					"merge",
					{ fieldManager },
				);
				break;
			case "remove":
				await client.delete(kinds.secret, name, namespace, {
					uid,
					resourceVersion,
				});
				break;
			case "lookAgain":
				result = soonest(result, action.afterMs);
		}
	return result;
}
