import { hash } from "node:crypto";
import { RequestError } from "../errors.ts";

/** What all replicas know of requests with an `Idempotency-Key`, for 24 h. Each method throws when that can't be told. */
export interface RequestStore {
	/** Keeps a request under its key if there is none; returns what is there now. */
	keep(key: string, request: KeptRequest): Promise<KeptRequest>;
	/** Says what the request has made. */
	finish(key: string, request: KeptRequest): Promise<void>;
}

export interface KeptRequest {
	bodyHash: string;
	/** Name of what it has made; absent as long as that isn't known. */
	made?: string;
}

/** A request that is to be carried out once, however often it is sent. */
export interface OnceRequest {
	/** 64 hexadecimal digits that no other request has: what it makes is named and marked by them. */
	digest: string;
	/** Name of what it made when it was sent before. */
	made?: string;
}

interface KeyedRequest {
	account: string;
	/** Who asks. */
	subject: string;
	path: string;
	body: unknown;
	/** The header. */
	key: string;
}

/**
 * Carries out a request under its Idempotency-Key. The key's scope is who asks, in which account, at which path. The
 * body's digest is made with the key, so that who reads the store can't guess at a body. Throws {@link RequestError}:
 * `Conflict` when the key came with another body before.
 */
export async function carryOutOnce<T extends { name: string }>(
	store: RequestStore | undefined,
	{ account, subject, path, body, key }: KeyedRequest,
	carryOut: (once: OnceRequest) => Promise<T>,
): Promise<T> {
	if (!/^[\x20-\x7e]{1,255}$/.test(key))
		throw new RequestError("InvalidRequest", "Idempotency-Key is not a key.", {
			details: [
				{
					path: "Idempotency-Key",
					message: "must have 1 to 255 printable ASCII characters",
				},
			],
		});
	const digest = digestOf([account, subject, path, key]);
	const request = { bodyHash: digestOf([key, body ?? null]) };
	const kept = await asked(store, (s) => s.keep(digest, request));
	if (kept.bodyHash !== request.bodyHash)
		throw new RequestError(
			"Conflict",
			"This Idempotency-Key came with another body before. Give a new request a new key.",
		);
	if (kept.made !== undefined) return carryOut({ digest, made: kept.made });
	const answer = await carryOut({ digest });
	await asked(store, (s) =>
		s.finish(digest, { ...request, made: answer.name }),
	);
	return answer;
}

function digestOf(parts: unknown[]): string {
	return hash("sha256", JSON.stringify(parts));
}

async function asked<T>(
	store: RequestStore | undefined,
	question: (store: RequestStore) => Promise<T>,
): Promise<T> {
	try {
		if (store) return await question(store);
	} catch {
		// Said below; what NATS lacks is in the log of its connection.
	}
	throw new RequestError(
		"Unavailable",
		"Keys of requests can't be kept at the moment, since NATS doesn't answer. Send the request again, with its key.",
		{ headers: { "retry-after": "2" } },
	);
}
