import type { KubeObject } from "../resource.ts";
import type { QueryParameters, TransportOptions } from "./transport.ts";

export interface KubeClientOptions extends TransportOptions {
	/** Bounds the time to a whole answer. Default 30 s. Watches have no such bound. */
	requestTimeoutMs?: number;
	/** Called before every write. When it throws, the write is not sent. */
	guard?: () => void;
}

export interface KubeList<T extends KubeObject> {
	metadata: {
		resourceVersion?: string;
		continue?: string;
		/** Of a page: how many come after it. Absent if something is selected. */
		remainingItemCount?: number;
	};
	items: T[];
}

/** Which objects, and how much of each. */
export interface ListScope {
	/** All namespaces when absent. */
	namespace?: string | undefined;
	labelSelector?: string | undefined;
	fieldSelector?: string | undefined;
	/** The apiserver sends only `metadata` (PartialObjectMetadata). */
	metadataOnly?: boolean | undefined;
}

export interface ListOptions extends ListScope {
	limit?: number | undefined;
	continue?: string | undefined;
	/**
	 * A version that a watch of this kind has told: the apiserver answers from its memory once that has it. By default it finds out first
	 * what is newest, which takes a tenth of a second, and longer while it stores large objects.
	 */
	notOlderThan?: string | undefined;
	/** In characters. A longer answer is {@link AnswerTooLong}. */
	maxLength?: number | undefined;
	/** The answer's long strings are empty, but for the values of members of these names. */
	valuesOf?: readonly string[] | undefined;
}

export interface WatchOptions extends ListScope {
	resourceVersion: string;
	/** The apiserver ends the watch after this time. */
	timeoutSeconds: number;
	/** After this time without a byte the connection counts as dead. */
	silenceMs: number;
	signal: AbortSignal;
}

export interface WatchEvent {
	type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
	object: unknown;
}

export type PatchType = "merge" | "json" | "apply";

export interface WriteOptions {
	fieldManager?: string;
	/** Server-side apply takes over fields that another manager owns. */
	force?: boolean;
	/** Validates and admits, stores nothing. */
	dryRun?: boolean;
	/** Refuses unknown fields, as kubectl does. Otherwise the apiserver drops them. */
	strict?: boolean;
	subresource?: string;
	/** Gives the request up. The apiserver may have carried it out all the same. */
	signal?: AbortSignal;
}

export interface RawOptions {
	query?: QueryParameters;
	/** Sent as JSON. */
	body?: unknown;
	/** Default `application/json`. */
	contentType?: string;
	/** Default `application/json`. */
	accept?: string;
	signal?: AbortSignal | undefined;
	/** In characters. A longer answer is {@link AnswerTooLong}. */
	maxLength?: number | undefined;
	/** Of each chunk of the answer, what is kept. */
	shorten?: ((chunk: string) => string) | undefined;
}
