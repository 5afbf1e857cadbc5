import type { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeConfig } from "@kubernetes/client-node";
import { parseExact } from "../../json/json-reader.ts";
import {
	apiVersionOf,
	type KubeObject,
	type ObjectDraft,
	type ResourceKind,
	resourcePath,
} from "../resource.ts";
import type {
	KubeClientOptions,
	KubeList,
	ListOptions,
	ListScope,
	PatchType,
	RawOptions,
	WatchEvent,
	WatchOptions,
	WriteOptions,
} from "./client-options.ts";
import { hasReason, KubeApiError, TransportError, unless } from "./errors.ts";
import { withoutLongStrings } from "./long-strings.ts";
import {
	type ClusterAccess,
	configAccess,
	type KubeRequest,
	parseJson,
	type QueryParameters,
	Transport,
} from "./transport.ts";

export type * from "./client-options.ts";
export {
	AnswerTooLong,
	hasReason,
	KubeApiError,
	TransportError,
	unless,
} from "./errors.ts";

/**
 * The verbs of the Kubernetes API, typed by {@link ResourceKind}. Each throws {@link KubeApiError} when the apiserver
 * refuses and {@link TransportError} when it doesn't answer. A read is retried when an overloaded apiserver says when to
 * retry, and a read and an apply when a kept connection turns out to be closed.
 */
export class KubeClient {
	readonly #transport: Transport;
	readonly #requestTimeoutMs: number;
	readonly #guard: (() => void) | undefined;

	constructor(
		transport: Transport,
		{ requestTimeoutMs = 30_000, guard }: KubeClientOptions = {},
	) {
		this.#transport = transport;
		this.#requestTimeoutMs = requestTimeoutMs;
		this.#guard = guard;
	}

	static fromConfig(
		kubeConfig: KubeConfig,
		options: KubeClientOptions = {},
	): KubeClient {
		return KubeClient.at(configAccess(kubeConfig), options);
	}

	static at(
		access: ClusterAccess,
		options: KubeClientOptions = {},
	): KubeClient {
		return new KubeClient(new Transport(access, options), options);
	}

	/** Returns undefined when there is no such object. */
	async get<T extends KubeObject>(
		kind: ResourceKind<T>,
		name: string,
		namespace?: string,
		{ metadataOnly }: Pick<ListScope, "metadataOnly"> = {},
	): Promise<T | undefined> {
		const found = this.raw("GET", resourcePath(kind, namespace, name), {
			...(metadataOnly && { accept: metadataAs("PartialObjectMetadata") }),
		});
		return (await unless(found, "NotFound")) as T | undefined;
	}

	/** Returns one page when there is a limit; `metadata.continue` asks for the next. */
	async list<T extends KubeObject>(
		kind: ResourceKind<T>,
		options: ListOptions = {},
	): Promise<KubeList<T>> {
		const { namespace, metadataOnly, ...rest } = options;
		const { maxLength, valuesOf, notOlderThan, ...selected } = rest;
		const query = {
			...selected,
			...(notOlderThan !== undefined && {
				resourceVersion: notOlderThan,
				resourceVersionMatch: "NotOlderThan",
			}),
		};
		const list = (await this.raw("GET", resourcePath(kind, namespace), {
			...{ query, maxLength },
			shorten: valuesOf && withoutLongStrings(new Set(valuesOf)),
			...(metadataOnly && { accept: metadataAs("PartialObjectMetadataList") }),
		})) as Omit<KubeList<T>, "items"> & { items: T[] | null };
		// The apiserver sends an empty list of metadata as null.
		return { ...list, items: list.items ?? [] };
	}

	async create<T extends KubeObject>(
		kind: ResourceKind<T>,
		object: ObjectDraft<T>,
		options: WriteOptions = {},
	): Promise<T> {
		const path = resourcePath(
			kind,
			object.metadata.namespace,
			undefined,
			options.subresource,
		);
		return (await this.raw("POST", path, {
			...writeRequest(options),
			body: typed(kind, object),
		})) as T;
	}

	/** Writes the whole object. With a resourceVersion in it, any other stored version is a `Conflict`. */
	async replace<T extends KubeObject>(
		kind: ResourceKind<T>,
		object: T,
		options: WriteOptions = {},
	): Promise<T> {
		const { name, namespace } = object.metadata;
		return (await this.raw(
			"PUT",
			resourcePath(kind, namespace, name, options.subresource),
			{ ...writeRequest(options), body: typed(kind, object) },
		)) as T;
	}

	async patch<T extends KubeObject>(
		kind: ResourceKind<T>,
		name: string,
		namespace: string | undefined,
		body: unknown,
		type: PatchType,
		options: WriteOptions = {},
	): Promise<T> {
		return (await this.raw(
			"PATCH",
			resourcePath(kind, namespace, name, options.subresource),
			{
				...writeRequest(options),
				body,
				contentType: patchContentTypes[type],
			},
		)) as T;
	}

	/** Server-side apply: the manager then owns exactly these fields. `Conflict` when another manager owns one of them. */
	async apply<T extends KubeObject>(
		kind: ResourceKind<T>,
		object: KubeObject,
		options: WriteOptions & { fieldManager: string },
	): Promise<T> {
		const { name, namespace } = object.metadata;
		const body = typed(kind, object);
		return this.patch(kind, name, namespace, body, "apply", options);
	}

	/** Server-side apply of the status. It takes over every field, because a status has one writer. */
	async applyStatus<T extends KubeObject>(
		kind: ResourceKind<T>,
		object: KubeObject & { status: unknown },
		options: { fieldManager: string },
	): Promise<T> {
		return this.apply(kind, object, {
			...options,
			force: true,
			subresource: "status",
		});
	}

	/**
	 * Returns false when the object is already gone, or another object has its name now (`uid`). By default dependents are
	 * deleted in the background.
	 */
	async delete<T extends KubeObject>(
		kind: ResourceKind<T>,
		name: string,
		namespace?: string,
		options: {
			uid?: string | undefined;
			resourceVersion?: string | undefined;
			propagationPolicy?: "Background" | "Foreground" | "Orphan";
			gracePeriodSeconds?: number;
		} = {},
	): Promise<boolean> {
		const { uid, resourceVersion, ...deleteOptions } = options;
		try {
			await this.raw("DELETE", resourcePath(kind, namespace, name), {
				body: {
					apiVersion: "v1",
					kind: "DeleteOptions",
					propagationPolicy: "Background",
					...deleteOptions,
					preconditions: { uid, resourceVersion },
				},
			});
			return true;
		} catch (error) {
			if (hasReason(error, "NotFound")) return false;
			if (uid && !resourceVersion && hasReason(error, "Conflict")) return false;
			throw error;
		}
	}

	/** Yields the events of a watch until the apiserver ends it. Throws an ERROR event as {@link KubeApiError}. */
	async *watch<T extends KubeObject>(
		kind: ResourceKind<T>,
		{ namespace, metadataOnly, signal, silenceMs, ...query }: WatchOptions,
	): AsyncGenerator<WatchEvent> {
		const lines = this.#transport.lines({
			method: "GET",
			path: resourcePath(kind, namespace),
			query: { ...query, watch: true, allowWatchBookmarks: true },
			...(metadataOnly && { accept: metadataAs("PartialObjectMetadata") }),
			signal,
			silenceMs,
		});
		for await (const line of lines) yield watchEvent(line);
	}

	/** Any request. Returns parsed JSON, or text when the answer isn't JSON. */
	async raw(
		method: string,
		path: string,
		options: RawOptions = {},
	): Promise<unknown> {
		return parseJson(await this.rawText(method, path, options));
	}

	/** Any request. Returns the answer as text, such as a container's log. */
	async rawText(
		method: string,
		path: string,
		options: RawOptions = {},
	): Promise<string> {
		const request = { method, path, ...options };
		for (let attempt = 1; ; attempt++) {
			try {
				return await this.#answer(request);
			} catch (error) {
				const waitMs = retryWaitMs(request, error, attempt);
				if (waitMs === undefined) throw error;
				await sleep(waitMs);
			}
		}
	}

	/** Streams the answer to a GET, such as a followed log. It may pause and last as long as it likes. */
	async rawStream(
		path: string,
		query: QueryParameters,
		signal: AbortSignal,
	): Promise<IncomingMessage> {
		return this.#transport.open({ method: "GET", path, query, signal });
	}

	#answer(request: KubeRequest): Promise<string> {
		if (request.method !== "GET") this.#guard?.();
		return this.#transport.answer({
			...request,
			timeoutMs: this.#requestTimeoutMs,
		});
	}
}

export const applyContentType = "application/apply-patch+yaml";

const patchContentTypes: Record<PatchType, string> = {
	merge: "application/merge-patch+json",
	json: "application/json-patch+json",
	// JSON is valid YAML.
	apply: applyContentType,
};

function metadataAs(kind: string): string {
	return `application/json;as=${kind};g=meta.k8s.io;v=v1`;
}

function watchEvent(line: string): WatchEvent {
	const event = parseExact(line) as
		| WatchEvent
		| { type: "ERROR"; object: { code?: number } };
	if (event.type === "ERROR")
		throw new KubeApiError(event.object.code ?? 500, event.object);
	return event;
}

function typed<T extends KubeObject>(kind: ResourceKind<T>, object: object) {
	return { apiVersion: apiVersionOf(kind), kind: kind.kind, ...object };
}

function writeRequest(options: WriteOptions): RawOptions {
	const { fieldManager, force, dryRun, strict, signal } = options;
	const query = {
		fieldManager,
		force,
		...(dryRun && { dryRun: "All" }),
		...(strict && { fieldValidation: "Strict" }),
	};
	return { query, signal };
}

const maxRetries = 3;

/**
 * How long to wait before the request is sent again, in ms; undefined for no retry. Callers retry other writes themselves.
 *
 * An apiserver, or a proxy before it, may close a kept connection at the moment a request is sent. A read and a server-side
 * apply do the same when they are sent twice (RFC 9110, 9.2.2).
 */
export function retryWaitMs(
	{ method, contentType }: Pick<KubeRequest, "method" | "contentType">,
	error: unknown,
	attempt: number,
): number | undefined {
	if (attempt > maxRetries) return undefined;
	const isRead = method === "GET";
	const isRepeatable = isRead || contentType === applyContentType;
	if (isRepeatable && error instanceof TransportError && error.staleConnection)
		return 0;
	// API Priority and Fairness answers 429 with Retry-After, a starting apiserver 503.
	if (
		isRead &&
		error instanceof KubeApiError &&
		[429, 503].includes(error.status)
	)
		return error.retryAfterMs && Math.min(error.retryAfterMs, 10_000);
	return undefined;
}
