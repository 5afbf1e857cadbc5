import { randomBytes } from "node:crypto";
import { hasReason } from "../../packages/kube/client/client.ts";
import type {
	ApiRequest,
	Handler,
	IdempotentRequest,
} from "../http/endpoint.ts";
import { createOnce, requestAnnotation } from "../http/idempotency-key.ts";
import { flagOf } from "../http/query.ts";
import type { ApiResource, Resource } from "./api-resource.ts";
import {
	fieldsBeside,
	nameErrors,
	newSpec,
	resourceName,
} from "./resource-body.ts";
import { awaitStatus, requireResource, respond } from "./resource-read.ts";
import { withSecrets } from "./secret-fields.ts";
import { writeValidated } from "./validated-write.ts";

/** `POST /v1/<collection>`: 201 and the new resource, once the operator has checked it. With `?dryRun=true`, 200 and nothing is made. */
export function createOf(resource: ApiResource): Handler {
	return async (request, reply) => {
		const { query, body, idempotency } = request;
		const dryRun = flagOf("dryRun", query.dryRun);
		const created = idempotency?.created
			? await requireResource(resource, request, idempotency.created)
			: await createNamed(resource, request, body, { idempotency, dryRun });
		if (dryRun) return respond(reply, created);
		reply
			.code(201)
			.header(
				"location",
				`/v1/${resource.collection}/${created.metadata.name}`,
			);
		const seen = await awaitStatus(resource, request, created);
		return respond(reply, seen ?? created);
	};
}

interface Creation {
	idempotency: IdempotentRequest | undefined;
	dryRun: boolean;
}

/** If the body has no name, picks one that no other resource has. */
async function createNamed(
	resource: ApiResource,
	request: ApiRequest,
	body: Record<string, unknown>,
	how: Creation,
): Promise<Resource> {
	const { idempotency } = how;
	const nameWith = (suffix?: string) =>
		resourceName(body.displayName, resource.noun.replace(" ", "-"), suffix);
	if (body.name !== undefined || idempotency) {
		const name =
			body.name !== undefined && nameErrors(body.name).length === 0
				? String(body.name)
				: nameWith(idempotency?.digest.slice(0, 6));
		return create(resource, request, body, name, how);
	}
	try {
		return await create(resource, request, body, nameWith(), how);
	} catch (error) {
		if (!hasReason(error, "AlreadyExists")) throw error;
	}
	const suffix = randomBytes(3).toString("hex");
	return create(resource, request, body, nameWith(suffix), how);
}

async function create(
	resource: ApiResource,
	{ client, account }: ApiRequest,
	body: Record<string, unknown>,
	name: string,
	{ idempotency, dryRun }: Creation,
): Promise<Resource> {
	const wanted = newSpec(resource, body, name);
	const { spec, labels, errors } = wanted;
	const metadata = {
		name,
		namespace: account,
		...(labels && { labels }),
		...requestAnnotation(idempotency),
	};
	const beside = fieldsBeside(resource);
	const write = (dryRun: boolean) =>
		writeValidated(resource.noun, { errors, beside }, dryRun, (options) =>
			client.create<Resource>(resource.kind, { metadata, spec }, options),
		);
	return createOnce(client, resource.kind, metadata, idempotency, () =>
		withSecrets({ client, account }, wanted, dryRun, write),
	);
}
