import { hasReason } from "../../kube/client/client.ts";
import type { Caller, Handler } from "../http/operation.ts";
import type { ApiResource, Resource } from "./api-resource.ts";
import { requireMatch } from "./etag.ts";
import { awaitResource, requireResource, respond } from "./resource-read.ts";

/** `DELETE /v1/<collection>/{name}`: 204 after the deletion, or 202 if the operator still has to clean up. */
export function deleteOf(resource: ApiResource): Handler {
	return async (caller, { params, ifMatch }, reply) => {
		const { client, account } = caller;
		const object = await deleteMatching(
			resource,
			caller,
			params.name!,
			ifMatch,
		);
		const held = await client.get<Resource>(
			resource.kind,
			object.metadata.name,
			account,
		);
		const isSame = held && held.metadata.uid === object.metadata.uid;
		const left =
			isSame && (await awaitResource(resource, caller, held, () => false));
		if (left) return respond(reply.code(202), left);
		reply.code(204);
		return undefined;
	};
}

async function deleteMatching(
	resource: ApiResource,
	caller: Caller,
	name: string,
	ifMatch: string | undefined,
): Promise<Resource> {
	const { client, account } = caller;
	for (;;) {
		const object = await requireResource(resource, caller, name);
		requireMatch(ifMatch, object);
		const { uid, resourceVersion } = object.metadata;
		try {
			const preconditions = { uid, ...(ifMatch && { resourceVersion }) };
			if (await client.delete(resource.kind, name, account, preconditions))
				return object;
		} catch (error) {
			// A new status changes the version too: check again whether If-Match still holds.
			if (!ifMatch || !hasReason(error, "Conflict")) throw error;
		}
	}
}
