import type { FastifyReply } from "fastify";
import { hasReason } from "../../packages/kube/client/client.ts";
import { awaitObject } from "../../packages/kube/watch/object-wait.ts";
import type { ApiRequest, Handler } from "../http/endpoint.ts";
import { RequestError } from "../http/errors.ts";
import type { ApiResource, Resource } from "./api-resource.ts";
import { page, selectorsOf } from "./page.ts";
import { etagOf, resourceView } from "./views.ts";

/** `GET /v1/<collection>`. */
export function listOf(resource: ApiResource): Handler {
	const { kind, filters } = resource;
	return ({ client, account: namespace, query }) => {
		const selectors = selectorsOf(filters, query);
		return page({ client, kind, namespace, selectors }, query, resourceView);
	};
}

/** `GET /v1/<collection>/{name}`. */
export function getOf(resource: ApiResource): Handler {
	return async (request, reply) =>
		respond(
			reply,
			await requireResource(resource, request, request.params.name!),
		);
}

/** Throws a 404 if there is no such resource. */
export async function requireResource(
	resource: ApiResource,
	{ client, account }: ApiRequest,
	name: string,
): Promise<Resource> {
	const object = await client.get<Resource>(resource.kind, name, account);
	if (object) return object;
	throw notFound(resource, name, account);
}

export function notFound(
	{ noun }: ApiResource,
	name: string,
	account: string,
): RequestError {
	return new RequestError(
		"NotFound",
		`There is no ${noun} "${name}" in account "${account}".`,
	);
}

/**
 * Waits a few seconds at most until the resource is settled, and returns it as last seen, or undefined after a deletion. If the
 * caller may not watch or prefers not to wait, returns it at once.
 */
export async function awaitResource(
	{ kind }: ApiResource,
	{ client, whenGone, settleWithinMs }: ApiRequest,
	object: Resource,
	isSettled: (object: Resource) => boolean,
): Promise<Resource | undefined> {
	if (settleWithinMs === 0) return object;
	const signal = AbortSignal.any([
		whenGone(),
		AbortSignal.timeout(settleWithinMs),
	]);
	try {
		return await awaitObject(client, kind, object, isSettled, signal);
	} catch (error) {
		if (hasReason(error, "Forbidden")) return object;
		throw error;
	}
}

/** As {@link awaitResource}, until its status describes its latest change. */
export function awaitStatus(
	resource: ApiResource,
	request: ApiRequest,
	object: Resource,
): Promise<Resource | undefined> {
	return awaitResource(
		resource,
		request,
		object,
		({ metadata, status }) =>
			(status?.observedGeneration ?? -1) >= metadata.generation!,
	);
}

/** The resource as the body of a response, and its ETag. */
export function respond(reply: FastifyReply, object: Resource) {
	reply.header("etag", etagOf(object));
	return resourceView(object);
}
