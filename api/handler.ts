import type { FastifyReply } from "fastify";
import type { KubeClient } from "../kube/client/client.ts";
import type { OnceRequest } from "./once/request-keys.ts";

/** Carries out one operation for a caller, and returns the body of its answer. Throws what `requestErrorOf` knows. */
export type Handler = (
	caller: Caller,
	request: Question,
	reply: FastifyReply,
) => Promise<unknown>;

export interface Caller {
	/** Acts with the caller's token and nothing else. */
	client: KubeClient;
	/** The namespace that the request is about. */
	account: string;
	/** Fires when nobody waits for the answer any more, or the server is about to stop. */
	gone: AbortSignal;
}

export interface Question {
	params: Partial<Record<string, string>>;
	query: Partial<Record<string, string>>;
	/** Parsed JSON; undefined when there was no body. */
	body: unknown;
	/** The header of this name. */
	ifMatch: string | undefined;
	/** Of a request with an Idempotency-Key. */
	once: OnceRequest | undefined;
}
