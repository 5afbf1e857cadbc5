import { hash } from "node:crypto";
import { annotation } from "../../crds/labels.ts";
import {
	hasReason,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import type {
	KubeObject,
	ObjectMeta,
	ResourceKind,
} from "../../packages/kube/resource.ts";
import type { IdempotentRequest } from "./endpoint.ts";
import { requestErrorOf } from "./error-translation.ts";
import { invalidParameter, RequestError } from "./errors.ts";

/** What all replicas know of requests with an `Idempotency-Key`, for 24 hours. Each method throws while NATS is away. */
export interface IdempotencyStore {
	/** Creates the record unless the request has one. Returns `"full"` if the account may have no more records. */
	getOrCreate(
		request: RecordKey,
		record: IdempotencyRecord,
	): Promise<IdempotencyLookup | "full">;
	/** Replaces the record once the request has succeeded. */
	complete(request: RecordKey, record: IdempotencyRecord): Promise<void>;
	/** Removes a record that this request created, unless it was completed since. */
	drop(request: RecordKey, createdRevision: number): Promise<void>;
}

export interface RecordKey {
	account: string;
	digest: string;
}

export interface IdempotencyLookup {
	record: IdempotencyRecord;
	/** Present if this call created the record. */
	createdRevision?: number;
}

export interface IdempotencyRecord {
	bodyHash: string;
	/** Name of the object that the request created. Absent until the request has succeeded. */
	made?: string;
}

interface KeyedRequest {
	account: string;
	/** The caller's user name. */
	subject: string;
	path: string;
	body: unknown;
	/** The `Idempotency-Key` header. */
	key: string;
}

/**
 * Performs a request under its Idempotency-Key. A key is scoped to the caller, the account and the path. The body's hash
 * includes the key, so that a reader of the store can't guess bodies. No body counts as `{}`. A refused request leaves no
 * record. Throws {@link RequestError}: `Conflict` if the key was used with a different body.
 */
export async function performOnce<T extends { name: string }>(
	store: IdempotencyStore,
	{ account, subject, path, body, key }: KeyedRequest,
	perform: (request: IdempotentRequest) => Promise<T>,
): Promise<T> {
	requireKey(key);
	const digest = digestOf([account, subject, path, key]);
	const request = { account, digest };
	// Some HTTP clients can't send a body that says nothing, others can't leave it out.
	const record = { bodyHash: digestOf([key, body ?? {}]) };
	const kept = await available(store, (s) => s.getOrCreate(request, record));
	if (kept === "full") throw tooManyKeys(account);
	const { record: known, createdRevision } = kept;
	// Earlier versions hashed no body as null.
	const hashes = [record.bodyHash, digestOf([key, body ?? null])];
	if (!hashes.includes(known.bodyHash))
		throw new RequestError(
			"Conflict",
			"This Idempotency-Key was used with a different body. Use a new key for a new request.",
		);
	if (known.made !== undefined) return perform({ digest, created: known.made });
	const answer = await perform({ digest }).catch(async (error: unknown) => {
		// An earlier request with this key may have created something, so only the first one drops the record.
		if (createdRevision !== undefined && requestErrorOf(error).status < 500)
			await store.drop(request, createdRevision).catch(() => undefined);
		throw error;
	});
	await available(store, (s) =>
		s.complete(request, { ...record, made: answer.name }),
	);
	return answer;
}

/** Throws a 400 if the header's value is no key. */
export function requireKey(key: string): void {
	if (/^[\x20-\x7e]{1,255}$/.test(key)) return;
	throw invalidParameter(
		"Idempotency-Key",
		"must have 1 to 255 printable ASCII characters",
		key,
	);
}

function tooManyKeys(account: string): RequestError {
	return new RequestError(
		"RateLimited",
		`The account "${account}" has used too many Idempotency-Keys within 24 hours. Send the request later, or without a key.`,
		{ headers: { "retry-after": "60" } },
	);
}

/** Annotates the object that an idempotent request creates, so that {@link createOnce} recognises it. */
export function requestAnnotation(
	request: IdempotentRequest | undefined,
): Pick<ObjectMeta, "annotations"> {
	return request
		? { annotations: { [annotation.request]: request.digest } }
		: {};
}

/** Creates an object, or returns the one that an earlier attempt of the same request created under that name. */
export async function createOnce<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	{ name, namespace }: { name: string; namespace: string },
	request: IdempotentRequest | undefined,
	create: () => Promise<T>,
): Promise<T> {
	try {
		return await create();
	} catch (error) {
		if (!request || !hasReason(error, "AlreadyExists")) throw error;
		const existing = await client.get<T>(kind, name, namespace);
		const digest = existing?.metadata.annotations?.[annotation.request];
		if (existing && digest === request.digest) return existing;
		throw error;
	}
}

function digestOf(parts: unknown[]): string {
	return hash("sha256", JSON.stringify(parts));
}

async function available<T>(
	store: IdempotencyStore,
	use: (store: IdempotencyStore) => Promise<T>,
): Promise<T> {
	try {
		return await use(store);
	} catch {
		// The log of the NATS connection has the cause.
	}
	throw new RequestError(
		"Unavailable",
		"Idempotency keys are unavailable because NATS does not answer. Retry with the same key.",
		{ headers: { "retry-after": "2" } },
	);
}
