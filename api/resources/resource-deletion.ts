import { inUseFinalizer } from "../../crds/labels.ts";
import { hasReason, unless } from "../../packages/kube/client/client.ts";
import {
	type ApiRequest,
	type Handler,
	writeOptions,
} from "../http/endpoint.ts";
import { RequestError } from "../http/errors.ts";
import { flagOf } from "../http/query.ts";
import type { ApiResource, Resource } from "./api-resource.ts";
import { readPage } from "./page.ts";
import { awaitResource, requireResource, respond } from "./resource-read.ts";
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
		if (isForced) await releaseFromUsers(resource, request, object);
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

/** How many users a message names. */
const namedUsers = 5;

/** Throws a 409 while other resources refer to this one. Those that the caller may not list don't count. */
async function requireUnused(
	{ noun, users }: ApiResource,
	{ client, account: namespace }: ApiRequest,
	name: string,
): Promise<void> {
	for (const { kind, nouns, field } of users) {
		const selectors = { fieldSelector: `${field}=${name}` };
		const listed = { client, kind, namespace, selectors };
		const found = await unless(readPage(listed, namedUsers + 1), "Forbidden");
		const names = (found?.items ?? []).map(
			({ metadata }) => `"${metadata.name}"`,
		);
		if (names.length === 0) continue;
		const more = names.length > namedUsers ? " and others" : "";
		throw new RequestError(
			"InUse",
			`The ${noun} "${name}" is used by the ${nouns} ${names.slice(0, namedUsers).join(", ")}${more}. Delete or change them first, or repeat the request with ?force=true.`,
		);
	}
}

/**
 * Takes the finalizer away by which the operator keeps what others use. It stays away: nobody can add one to what is being
 * deleted (metadata.finalizers, API reference).
 */
async function releaseFromUsers(
	{ kind }: ApiResource,
	{ client, account }: ApiRequest,
	{ metadata: { name, uid } }: Resource,
): Promise<void> {
	for (;;) {
		const object = await client.get<Resource>(kind, name, account);
		if (!object || object.metadata.uid !== uid) return;
		const { finalizers = [], resourceVersion } = object.metadata;
		const others = finalizers.filter((each) => each !== inUseFinalizer);
		if (others.length === finalizers.length) return;
		const metadata = { uid, resourceVersion, finalizers: others };
		try {
			const patch = { metadata };
			await client.patch(kind, name, account, patch, "merge", writeOptions);
		} catch (error) {
			// A new status changes the version, too; or the last Source has just gone.
			if (!hasReason(error, "Conflict", "NotFound")) throw error;
		}
	}
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
