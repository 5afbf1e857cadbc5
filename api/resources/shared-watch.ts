import type { KubeClient } from "../../packages/kube/client/client.ts";
import {
	ageOf,
	type KubeObject,
	type ResourceKind,
} from "../../packages/kube/resource.ts";
import {
	reflect,
	type WatchSink,
} from "../../packages/kube/watch/reflector.ts";
import type { Logger } from "../../packages/service/log.ts";

declare module "fastify" {
	interface FastifyInstance {
		sharedWatches: SharedWatches;
	}
}

/** A kind, and how the API shows one of its objects. */
export interface WatchedKind {
	kind: ResourceKind<KubeObject>;
	view: (object: KubeObject) => object;
}

/** Who sees what a watch sees. Whoever joins has been found to have the right to list and watch the kind in the namespace. */
export interface Visitor {
	/** Acts with the visitor's token. */
	client: KubeClient;
	/** An object came, changed or is gone. */
	changed(name: string): void;
	/** The watch ran with this visitor's token, and failed: the token or the right may be gone. */
	failed(): void;
}

/** One kind in one namespace, as a visitor sees it. */
export interface SharedView {
	/** Settles once all that is there has been listed. */
	listed: Promise<void>;
	/** What the API shows of an object, as JSON; undefined if there is none of the name. */
	get(name: string): string | undefined;
	/** Names, the newest object first. */
	names(): string[];
	leave(): void;
}

/** Whose tabs are closed together leave together; the watch doesn't pass through all of them. */
const moveAfterMs = 250;

/** One watch for each kind and namespace, however many visitors there are. It runs while there is one. */
export class SharedWatches {
	readonly #log: Logger;
	readonly #watches = new Map<string, SharedWatch>();

	constructor(log: Logger) {
		this.#log = log;
	}

	join(watched: WatchedKind, namespace: string, visitor: Visitor): SharedView {
		const key = `${watched.kind.plural}/${namespace}`;
		const watch =
			this.#watches.get(key) ?? new SharedWatch(watched, namespace, this.#log);
		this.#watches.set(key, watch);
		watch.join(visitor);
		return {
			listed: watch.listed,
			get: (name) => watch.get(name),
			names: () => watch.names(),
			leave: () => {
				watch.leave(visitor);
				if (watch.isOver && this.#watches.get(key) === watch)
					this.#watches.delete(key);
			},
		};
	}
}

/** What is held of an object. */
interface ShownObject extends KubeObject {
	json: string;
}

/**
 * A watch with the token of one of its visitors, its holder. When the holder leaves, which is also what happens to one whose token
 * or right has ended, the next visitor becomes it, and watches on from where that one was. When the last one leaves, nothing is
 * kept: neither a token, nor what may be no longer so when somebody comes.
 */
class SharedWatch implements WatchSink<ShownObject> {
	readonly listed: Promise<void>;
	readonly #setListed: () => void;
	readonly #watched: WatchedKind;
	readonly #namespace: string;
	readonly #log: Logger;
	readonly #objects = new Map<string, ShownObject>();
	/** In the order in which they came. */
	readonly #visitors = new Set<Visitor>();
	#held: { by: Visitor; stop: AbortController } | undefined;
	/** Of what it holds. */
	#version: string | undefined;

	constructor(watched: WatchedKind, namespace: string, log: Logger) {
		this.#watched = watched;
		this.#namespace = namespace;
		this.#log = log;
		const { promise, resolve } = Promise.withResolvers<void>();
		this.listed = promise;
		this.#setListed = resolve;
	}

	get isOver(): boolean {
		return this.#visitors.size === 0;
	}

	join(visitor: Visitor): void {
		this.#visitors.add(visitor);
		if (!this.#held) this.#hold(visitor);
	}

	leave(visitor: Visitor): void {
		this.#visitors.delete(visitor);
		if (this.#held?.by !== visitor) return;
		this.#held.stop.abort();
		if (this.isOver) return;
		const held = this.#held;
		setTimeout(() => {
			const [next] = this.#visitors;
			if (next && this.#held === held) this.#hold(next);
		}, moveAfterMs);
	}

	get(name: string): string | undefined {
		return this.#objects.get(name)?.json;
	}

	names(): string[] {
		return [...this.#objects.values()]
			.sort((a, b) => (ageOf(a) < ageOf(b) ? 1 : -1))
			.map(({ metadata }) => metadata.name);
	}

	kept(object: ShownObject): ShownObject {
		const { name, namespace, uid, resourceVersion, creationTimestamp } =
			object.metadata;
		return {
			metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
			json: JSON.stringify(this.#watched.view(object)),
		} as ShownObject;
	}

	replace(_: string | undefined, objects: ShownObject[]): void {
		const there = new Set(objects.map(({ metadata }) => metadata.name));
		for (const object of this.#objects.values())
			if (!there.has(object.metadata.name)) this.remove(object);
		for (const object of objects) this.put(object);
	}

	put(object: ShownObject): void {
		const { name } = object.metadata;
		if (this.#objects.get(name)?.json === object.json) return;
		this.#objects.set(name, object);
		this.#notify(name);
	}

	remove({ metadata: { name } }: KubeObject): void {
		if (this.#objects.delete(name)) this.#notify(name);
	}

	#notify(name: string): void {
		for (const visitor of this.#visitors) visitor.changed(name);
	}

	#hold(visitor: Visitor): void {
		const stop = new AbortController();
		this.#held = { by: visitor, stop };
		void reflect(
			visitor.client,
			this.#watched.kind as ResourceKind<ShownObject>,
			{ namespace: this.#namespace },
			this,
			{
				listed: this.#setListed,
				refused: async () => {},
				received: (version) => {
					if (!stop.signal.aborted) this.#version = version;
				},
				failed: () => {
					if (!stop.signal.aborted) visitor.failed();
				},
			},
			this.#log,
			stop.signal,
			this.#version,
		);
	}
}
