import { randomBytes } from "node:crypto";
import { hasReason } from "../../kube/client/client.ts";
import {
	type Caller,
	type Handler,
	type IdempotentRequest,
	writeOptions,
} from "../http/operation.ts";
import {
	createOnce,
	requestAnnotation,
} from "../idempotency/idempotency-key.ts";
import type { ApiResource, Resource } from "./api-resource.ts";
import { withSecrets } from "./inline-secrets.ts";
import { newSpec } from "./resource-body.ts";
import { resourceName } from "./resource-name.ts";
import { awaitResource, requireResource, respond } from "./resource-read.ts";

/** `POST /v1/<collection>`: 201 and the new resource, once it is ready to show. */
export function createOf(resource: ApiResource): Handler {
	return async (caller, { body, idempotency }, reply) => {
		const created = idempotency?.created
			? await requireResource(resource, caller, idempotency.created)
			: await createNamed(resource, caller, body, idempotency);
		reply
			.code(201)
			.header(
				"location",
				`/v1/${resource.collection}/${created.metadata.name}`,
			);
		const ready = await awaitResource(resource, caller, created, (seen) =>
			resource.isReadyToShow(seen),
		);
		return respond(reply, ready ?? created);
	};
}

/** If the body has no name, picks one that no other resource has. */
async function createNamed(
	resource: ApiResource,
	caller: Caller,
	body: Record<string, unknown>,
	idempotency: IdempotentRequest | undefined,
): Promise<Resource> {
	const nameWith = (suffix?: string) =>
		resourceName(body.displayName, resource.noun.replace(" ", "-"), suffix);
	if (body.name !== undefined || idempotency) {
		const name = body.name ?? nameWith(idempotency?.digest.slice(0, 6));
		return create(resource, caller, body, String(name), idempotency);
	}
	try {
		return await create(resource, caller, body, nameWith());
	} catch (error) {
		if (!hasReason(error, "AlreadyExists")) throw error;
	}
	const suffix = randomBytes(3).toString("hex");
	return create(resource, caller, body, nameWith(suffix));
}

async function create(
	resource: ApiResource,
	{ client, account }: Caller,
	body: Record<string, unknown>,
	name: string,
	idempotency?: IdempotentRequest,
): Promise<Resource> {
	const { spec, secrets } = newSpec(resource, body, name);
	const metadata = {
		name,
		namespace: account,
		...requestAnnotation(idempotency),
	};
	const write = (dryRun: boolean) =>
		client.create<Resource>(
			resource.kind,
			{ metadata, spec },
			{ ...writeOptions, dryRun },
		);
	return createOnce(client, resource.kind, metadata, idempotency, () =>
		withSecrets(
			{ client, account },
			secrets,
			() => write(true),
			() => write(false),
		),
	);
}
