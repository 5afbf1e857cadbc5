import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { FastifyReply } from "fastify";
import { ApiError, hasReason } from "../../kube/client/client.ts";
import { awaitObject } from "../../kube/watch/object-wait.ts";
import { RequestError } from "../http/errors.ts";
import type { Caller, Handler, IdempotentRequest } from "../http/operation.ts";
import {
	createOnce,
	requestAnnotation,
} from "../idempotency/idempotency-key.ts";
import type { ApiResource, Resource } from "./api-resource.ts";
import { etagOf, requireMatch } from "./etag.ts";
import { removeSecrets, withSecrets } from "./inline-secrets.ts";
import { page } from "./page.ts";
import {
	changedSpec,
	newSpec,
	specPatch,
	type WantedSpec,
} from "./resource-body.ts";
import { resourceName } from "./resource-name.ts";
import { ownSecrets } from "./secret-fields.ts";
import { resourceView } from "./views.ts";

/** The longest time that POST waits for a resource to be ready to show, and DELETE for finalizers. */
const maxWaitMs = 5_000;
/** Attempts at a change while others change the resource too. */
const maxAttempts = 5;
const writeOptions = { fieldManager: "tidemill-api" };

/** `GET /v1/<collection>`. */
export function listOf(resource: ApiResource): Handler {
	return ({ client, account }, { query }) =>
		page(client, resource.kind, account, query, resourceView);
}

/** `GET /v1/<collection>/{name}`. */
export function getOf(resource: ApiResource): Handler {
	return async (caller, { params }, reply) =>
		shown(reply, await found(resource, caller, params.name!));
}

/** `POST /v1/<collection>`: 201 and the new resource, once it is ready to show. */
export function createOf(resource: ApiResource): Handler {
	return async (caller, { body, idempotency }, reply) => {
		const created = idempotency?.created
			? await found(resource, caller, idempotency.created)
			: await createNamed(resource, caller, body, idempotency);
		reply
			.code(201)
			.header(
				"location",
				`/v1/${resource.collection}/${created.metadata.name}`,
			);
		const ready = await settled(resource, caller, created, (seen) =>
			resource.isReadyToShow(seen),
		);
		return shown(reply, ready ?? created);
	};
}

/** `PATCH /v1/<collection>/{name}`: a JSON Merge Patch (RFC 7396), to the version that `If-Match` names. */
export function updateOf(resource: ApiResource): Handler {
	return async (caller, { params, body: patch, ifMatch }, reply) => {
		if (ifMatch === undefined && !touchesSecrets(resource, patch))
			return shown(reply, await merge(resource, caller, params.name!, patch));
		for (let attempt = 1; attempt <= maxAttempts; attempt++) {
			const name = params.name!;
			const before = await found(resource, caller, name);
			// RFC 9110 §13.2.1: errors of the request itself come before those of its preconditions.
			const wanted = changedSpec(resource, before.spec, patch, name);
			requireMatch(ifMatch, before);
			const after = await change(resource, caller, before, wanted);
			if (after) return shown(reply, after);
		}
		throw new RequestError(
			"Conflict",
			`Other changes to the ${resource.noun} came first each time. Retry the request.`,
			{ headers: { "retry-after": "1" } },
		);
	};
}

/** `DELETE /v1/<collection>/{name}`: 204 after the deletion, or 202 if the operator still has to clean up. */
export function removeOf(resource: ApiResource): Handler {
	return async (caller, { params, ifMatch }, reply) => {
		const { client, account } = caller;
		const object = await deleteMatching(
			resource,
			caller,
			params.name!,
			ifMatch,
		);
		await removeSecrets(
			{ client, account },
			ownSecrets(resource.secretFields, object.spec, object.metadata.name),
		);
		const held = await client.get<Resource>(
			resource.kind,
			object.metadata.name,
			account,
		);
		const isSame = held && held.metadata.uid === object.metadata.uid;
		const left = isSame && (await settled(resource, caller, held, () => false));
		if (left) return shown(reply.code(202), left);
		reply.code(204);
		return undefined;
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

function touchesSecrets(
	{ secretFields }: ApiResource,
	patch: Record<string, unknown>,
): boolean {
	return secretFields.some(({ at: [first] }) => Object.hasOwn(patch, first!));
}

/** The apiserver merges the patch into the current state, so that no read is needed and no other change is lost. */
async function merge(
	resource: ApiResource,
	{ client, account }: Caller,
	name: string,
	patch: Record<string, unknown>,
): Promise<Resource> {
	const body = { spec: specPatch(resource, patch, name) };
	try {
		return await client.patch<Resource>(
			resource.kind,
			name,
			account,
			body,
			"merge",
			writeOptions,
		);
	} catch (error) {
		throw hasReason(error, "NotFound")
			? noResource(resource, name, account)
			: error;
	}
}

/** Returns undefined, without effect, if the resource has changed since `before`. */
async function change(
	resource: ApiResource,
	{ client, account }: Caller,
	before: Resource,
	{ spec, secrets }: WantedSpec,
): Promise<Resource | undefined> {
	const { name, uid, generation } = before.metadata;
	if (isDeepStrictEqual(spec, before.spec)) return before;
	const write = (dryRun: boolean) =>
		client.patch<Resource>(
			resource.kind,
			name,
			account,
			[
				{ op: "test", path: "/metadata/uid", value: uid },
				{ op: "test", path: "/metadata/generation", value: generation },
				{ op: "replace", path: "/spec", value: spec },
			],
			"json",
			{ ...writeOptions, dryRun },
		);
	try {
		const after = await withSecrets(
			{ client, account },
			secrets,
			() => write(true),
			() => write(false),
		);
		const kept = ownSecrets(resource.secretFields, after.spec, name);
		const left = ownSecrets(resource.secretFields, before.spec, name).filter(
			(secret) => !kept.includes(secret),
		);
		await removeSecrets({ client, account }, left);
		return after;
	} catch (error) {
		if (isOutdated(error)) return undefined;
		throw error;
	}
}

/** A JSON Patch `test` failed. The apiserver answers 422 without a field, or 409 if the other change came in between. */
function isOutdated(error: unknown): boolean {
	if (hasReason(error, "Conflict")) return true;
	if (!(error instanceof ApiError) || error.status !== 422) return false;
	const { causes } = (error.details ?? {}) as { causes?: { field?: string }[] };
	return !causes?.some(({ field }) => field);
}

async function deleteMatching(
	resource: ApiResource,
	caller: Caller,
	name: string,
	ifMatch: string | undefined,
): Promise<Resource> {
	const { client, account } = caller;
	for (;;) {
		const object = await found(resource, caller, name);
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

async function found(
	resource: ApiResource,
	{ client, account }: Caller,
	name: string,
): Promise<Resource> {
	const object = await client.get<Resource>(resource.kind, name, account);
	if (object) return object;
	throw noResource(resource, name, account);
}

function noResource(
	{ noun }: ApiResource,
	name: string,
	account: string,
): RequestError {
	return new RequestError(
		"NotFound",
		`There is no ${noun} "${name}" in account "${account}".`,
	);
}

/** If the caller may not watch, returns the object as it is. */
async function settled(
	{ kind }: ApiResource,
	{ client, signal: aborted }: Caller,
	object: Resource,
	isSettled: (object: Resource) => boolean,
): Promise<Resource | undefined> {
	const signal = AbortSignal.any([aborted, AbortSignal.timeout(maxWaitMs)]);
	try {
		return await awaitObject(client, kind, object, isSettled, signal);
	} catch (error) {
		if (hasReason(error, "Forbidden")) return object;
		throw error;
	}
}

function shown(reply: FastifyReply, object: Resource) {
	reply.header("etag", etagOf(object));
	return resourceView(object);
}
