import type { KubeObject } from "../resource.ts";
import type { Query } from "./transport.ts";

export interface KubeClientOptions {
	/** How the apiserver's audit log names us. */
	userAgent?: string;
	/** How long an answer may take as a whole, 30 s unless said. Watches are not bound by it. */
	requestTimeoutMs?: number;
	/** Called before every write: one that it throws for is not sent. */
	guard?: () => void;
}

export interface KubeList<T extends KubeObject> {
	metadata: { resourceVersion?: string; continue?: string };
	items: T[];
}

/** Which objects are meant, and how much of them. */
export interface Scope {
	/** All namespaces when absent. */
	namespace?: string | undefined;
	labelSelector?: string | undefined;
	fieldSelector?: string | undefined;
	/** Only `metadata` is sent (PartialObjectMetadata): what else the objects hold never leaves the apiserver. */
	metadataOnly?: boolean | undefined;
}

export interface ListOptions extends Scope {
	limit?: number | undefined;
	continue?: string | undefined;
}

export interface WatchOptions extends Scope {
	resourceVersion: string;
	/** The apiserver ends the watch after so long. */
	timeoutSeconds: number;
	/** No byte for so long means that the connection is dead. */
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
	/** Server-side apply: take over fields that another manager owns. */
	force?: boolean;
	/** Validate and admit, store nothing. */
	dryRun?: boolean;
	subresource?: string;
}

export interface RawOptions {
	query?: Query;
	/** Sent as JSON. */
	body?: unknown;
	/** `application/json` unless said. */
	contentType?: string;
	/** `application/json` unless said. */
	accept?: string;
}
