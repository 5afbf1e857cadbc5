import { randomUUID } from "node:crypto";
import type { FastifyReply } from "fastify";
import type { Destination, Source } from "../../crds/generated/types.ts";
import { annotation } from "../../crds/labels.ts";
import {
	type ApiRequest,
	type Handler,
	writeOptions,
} from "../http/endpoint.ts";
import {
	type ApiResource,
	destinations,
	type Resource,
	sources,
} from "./api-resource.ts";
import { awaitResource, requireResource, respond } from "./resource-read.ts";

/** What the operator does once for each new value of an annotation. */
interface Request<T extends Resource> {
	resource: ApiResource<T>;
	annotation: string;
	value: string;
	/** Whether it is done. @param before The resource before the request. */
	isDone(before: T, seen: T): boolean;
}

/** Sets the annotation and waits a few seconds: 200 and the resource if it is done by then, and otherwise 202. */
async function annotateOnce<T extends Resource>(
	request: ApiRequest,
	reply: FastifyReply,
	{ resource, annotation, value, isDone }: Request<T>,
) {
	const { params, idempotency } = request;
	const any = resource as unknown as ApiResource;
	const before = await requireResource(any, request, params.name!);
	if (idempotency?.created) return respond(reply, before);
	const { name, uid } = before.metadata;
	const asked = await request.client.patch<Resource>(
		any.kind,
		name,
		request.account,
		{ metadata: { uid, annotations: { [annotation]: value } } },
		"merge",
		writeOptions,
	);
	const done = (seen: Resource) => isDone(before as T, seen as T);
	const seen = (await awaitResource(any, request, asked, done)) ?? asked;
	return respond(reply.code(done(seen) ? 200 : 202), seen);
}

/**
 * `POST /v1/destinations/{name}/check`: 200 and the Destination after one more check of it, or 202 if the check still runs.
 * `lastCheck.time` then says when it has ended.
 */
export const checkDestination: Handler = (request, reply) => {
	const value = request.idempotency?.digest.slice(0, 32) ?? randomUUID();
	return annotateOnce<Destination>(request, reply, {
		resource: destinations,
		annotation: annotation.check,
		value,
		isDone: (_, { status }) => status?.lastCheck?.request === value,
	});
};

/**
 * `POST /v1/sources/{name}/rotate-url`: 200 and the Source with its new URL, or 202 if the operator has still to issue it. The
 * operator keeps the URL's keys in a Secret, which the caller needn't read or write.
 */
export const rotateURL: Handler = (request, reply) =>
	annotateOnce<Source>(request, reply, {
		resource: sources,
		annotation: annotation.rotateURL,
		value: request.idempotency?.digest.slice(0, 32) ?? randomUUID(),
		isDone: (before, { status }) =>
			status?.webhookURL !== undefined &&
			status.webhookURL !== before.status?.webhookURL,
	});
