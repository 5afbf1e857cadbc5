import { hasReason } from "../../packages/kube/client/client.ts";
import {
	type ApiRequest,
	type Handler,
	writeOptions,
} from "../http/endpoint.ts";
import { RequestError } from "../http/errors.ts";
import { flagOf } from "../http/query.ts";
import type { ApiResource, Resource } from "./api-resource.ts";
import { awaitResource, requireResource, respond } from "./resource-read.ts";
import { releaseFromUsers, usersOf } from "./usage.ts";
import { requireMatch } from "./views.ts";

/** `DELETE /v1/<collection>/{name}`: 204 after the deletion, or 202 if the operator still has to clean up. 409 if it is used. */
export function deleteOf(resource: ApiResource): Handler {
	return async (request, reply) => {
		const { params, query, headers } = request;
		const ifMatch = headers["if-match"];
		const { client, account } = request;
		const isForced = flagOf("force", query.force);
		if (!isForced) await requireUnused(resource, request, params.name!);
		const object = await deleteMatching(
			resource,
			request,
			params.name!,
			ifMatch,
		);
		if (isForced)
			await releaseFromUsers(client, resource.kind, object, writeOptions);
		const held = await client.get<Resource>(
			resource.kind,
			object.metadata.name,
			account,
		);
		const isSame = held && held.metadata.uid === object.metadata.uid;
		const left =
			isSame && (await awaitResource(resource, request, held, () => false));
		if (left) return respond(reply.code(202), left);
		reply.code(204);
		return undefined;
	};
}

/** Throws a 409 while other resources refer to this one. */
async function requireUnused(
	{ noun, users }: ApiResource,
	{ client, account: namespace }: ApiRequest,
	name: string,
): Promise<void> {
	const found = await usersOf(client, users, { name, namespace });
	if (found !== undefined)
		throw new RequestError(
			"InUse",
			`The ${noun} "${name}" is used by ${found}. Delete or change them first, or repeat the request with ?force=true.`,
		);
}

async function deleteMatching(
	resource: ApiResource,
	request: ApiRequest,
	name: string,
	ifMatch: string | undefined,
): Promise<Resource> {
	const { client, account } = request;
	for (;;) {
		const object = await requireResource(resource, request, name);
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
