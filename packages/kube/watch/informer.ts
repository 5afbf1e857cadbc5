import type { Logger } from "../../service/log.ts";
import type { KubeClient, ListScope } from "../client/client.ts";
import type { KubeObject, ResourceKind } from "../resource.ts";
import { reflect } from "./reflector.ts";
import { type ChangeHandler, KubeObjectStore } from "./store.ts";

export interface InformerOptions<T extends KubeObject = KubeObject>
	extends Omit<ListScope, "namespace"> {
	/** All namespaces when absent. */
	namespaces?: readonly string[] | undefined;
	/** Settles when it is worth asking again for a namespace that the apiserver has refused; by default, at once. */
	whenPermitted?: (namespace: string, signal: AbortSignal) => Promise<void>;
	/** What to hold of an object; all but its history unless given. It is the only one that sees the whole. */
	kept?: ((object: T) => T) | undefined;
	log: Logger;
}

/**
 * Keeps the objects of one kind in memory, as the apiserver has them. Objects are shared: never change one.
 *
 *     const pods = new Informer(client, kinds.pod, { log });
 *     pods.onChange((pod, previous, deleted) => …);
 *     void pods.run(signal);
 *     await pods.synced;
 *     pods.get("default", "web-0");
 */
export class Informer<T extends KubeObject> {
	readonly kind: ResourceKind<T>;
	/** Fulfilled once everything has been listed, except in namespaces that the apiserver refuses. */
	readonly synced: Promise<void>;
	hasSynced = false;
	readonly #client: KubeClient;
	readonly #options: InformerOptions<T>;
	readonly #store: KubeObjectStore<T>;
	readonly #setSynced: () => void;
	/** Namespaces that this client was refused before it ever listed them. */
	readonly #unknown = new Set<string>();
	/** When the apiserver last sent something for each scope. */
	readonly #receivedMs = new Map<string | undefined, number>();

	constructor(
		client: KubeClient,
		kind: ResourceKind<T>,
		options: InformerOptions<T>,
	) {
		this.kind = kind;
		this.#client = client;
		this.#options = options;
		this.#store = new KubeObjectStore(
			(err) =>
				options.log.error({ err, kind: kind.kind }, "a change handler failed"),
			options.kept,
		);
		const { promise, resolve } = Promise.withResolvers<void>();
		this.synced = promise;
		this.#setSynced = resolve;
	}

	/**
	 * Follows the apiserver until the signal fires. Never throws.
	 * @param where in place of the namespaces of the constructor; none is followed if the list is empty.
	 */
	async run(
		signal: AbortSignal,
		where: {
			namespaces?: readonly string[] | undefined;
			/** Namespaces not to follow, if all others are. */
			except?: readonly string[];
		} = this.#options,
	): Promise<void> {
		const { namespaces: _, kept: __, ...options } = this.#options;
		const { log, whenPermitted, ...selected } = options;
		const scopes = where.namespaces ?? [undefined];
		const scope = { ...selected, ...exceptNamespaces(where.except) };
		const unlisted = new Set(scopes);
		for (const scope of scopes) this.#receivedMs.set(scope, performance.now());
		const settled = (namespace: string | undefined) => {
			unlisted.delete(namespace);
			if (unlisted.size > 0 || this.hasSynced) return;
			this.hasSynced = true;
			this.#setSynced();
		};
		if (scopes.length === 0) settled(undefined);
		await Promise.all(
			scopes.map((namespace) =>
				reflect(
					this.#client,
					this.kind,
					{ ...scope, namespace },
					this.#store,
					{
						received: () => this.#receivedMs.set(namespace, performance.now()),
						listed: () => {
							if (namespace !== undefined) this.#unknown.delete(namespace);
							settled(namespace);
						},
						refused: async () => {
							// It has answered, and says nothing more until it is asked again.
							this.#receivedMs.set(namespace, Infinity);
							if (unlisted.has(namespace)) this.#unknown.add(namespace!);
							settled(namespace);
							await whenPermitted?.(namespace!, signal);
						},
					},
					log,
					signal,
				),
			),
		);
	}

	/**
	 * Milliseconds since the apiserver last sent something about these objects: memory may be that old. A reachable apiserver
	 * sends a bookmark about once a minute.
	 */
	get silentMs(): number {
		const heardMs = Math.min(...this.#receivedMs.values());
		return this.#receivedMs.size === 0
			? 0
			: Math.max(0, performance.now() - heardMs);
	}

	/** The apiserver has never let this client list the namespace: what is missing in memory may exist. */
	isUnknown(namespace: string): boolean {
		return this.#unknown.has(namespace);
	}

	/** @param namespace is empty for cluster-scoped kinds. */
	get(namespace: string, name: string): T | undefined {
		return this.#store.get({ namespace, name });
	}

	list(namespace?: string): T[] {
		return this.#store.list(namespace);
	}

	/** Calls the handler after each change and deletion. What it throws is logged. */
	onChange(handler: ChangeHandler<T>): void {
		this.#store.onChange(handler);
	}

	/**
	 * Returns a lookup by key.
	 *
	 *     const podsOfNode = pods.index((pod) => [pod.spec.nodeName]);
	 *     podsOfNode("node-1");
	 */
	index(keysOf: (object: T) => string[]): (key: string) => T[] {
		return this.#store.index(keysOf);
	}
}

/** Kubernetes selects every namespaced kind by its namespace. */
function exceptNamespaces(
	namespaces: readonly string[] = [],
): Pick<ListScope, "fieldSelector"> {
	if (namespaces.length === 0) return {};
	const parts = namespaces.map((name) => `metadata.namespace!=${name}`);
	return { fieldSelector: parts.join() };
}
