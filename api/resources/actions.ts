import type { FastifyReply } from "fastify";
import {
	type ApiRequest,
	type Caller,
	writeOptions,
} from "../http/endpoint.ts";
import type { ApiResource, Resource } from "./api-resource.ts";
import {
	awaitResource,
	requireResource,
	respond,
} from "./resource-read.ts";

/** What the operator does once for each new value of an annotation. */
interface Request<T extends Resource> {
	resource: ApiResource<T>;
	annotation: string;
	value: string;
	/** Whether it is done. @param before The resource before the request. */
	isDone(before: T, seen: T): boolean;
}

/** Sets the annotation and waits a few seconds: 200 and the resource if it is done by then, and otherwise 202. */
export async function annotateOnce<T extends Resource>(
	caller: Caller,
	{ params, idempotency }: ApiRequest,
	reply: FastifyReply,
	{ resource, annotation, value, isDone }: Request<T>,
) {
	const any = resource as unknown as ApiResource;
	const before = await requireResource(any, caller, params.name!);
	if (idempotency?.created) return respond(reply, before);
	const { name, uid } = before.metadata;
	const asked = await caller.client.patch<Resource>(
		any.kind,
		name,
		caller.account,
		{ metadata: { uid, annotations: { [annotation]: value } } },
		"merge",
		writeOptions,
	);
	const done = (seen: Resource) => isDone(before as T, seen as T);
	const seen = (await awaitResource(any, caller, asked, done)) ?? asked;
	return respond(reply.code(done(seen) ? 200 : 202), seen);
}
