import { hash } from "node:crypto";
import { FairLimit } from "../../packages/fair/fair-limit.ts";
import { FairRoom } from "../../packages/fair/fair-room.ts";
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
	/** Paths of fields by which lists choose. */
	fields?: readonly string[];
}

/** What is known of an object without its text. */
export interface NewestObject {
	name: string;
	/** By `ageOf`. */
	age: string;
	/** RFC 3339. */
	created: string;
	/** Of the text, about. */
	length: number;
	/** The values of {@link WatchedKind.fields}. */
	fields: Record<string, string>;
}

/** Who sees what a watch sees. Whoever joins has been found to have the right to list and watch the kind in the namespace. */
export interface Visitor {
	/** Acts with the visitor's token. */
	client: KubeClient;
	/** An object came, changed or is gone. */
	changed(name: string): void;
	/** The watch ran with this visitor's token, and failed: the token or the right may be gone. */
	failed(error: unknown): void;
}

/** One kind in one namespace, as a visitor sees it. */
export interface SharedView {
	/** Settles once all that is there has been listed. */
	listed: Promise<void>;
	/**
	 * What the API shows of an object, as JSON; undefined if there is none of the name. The apiserver is asked, with the visitor's
	 * token, for what there was no room to hold; throws as the client does.
	 */
	get(name: string): Promise<string | undefined>;
	/** Whether nobody needs to be asked for that. */
	isHeld(name: string): boolean;
	/** How long that is about; 0 if there is none of the name. */
	lengthOf(name: string): number;
	/** Names, the newest object first. */
	names(): string[];
	/** The newest first. */
	newest(): readonly NewestObject[];
	/** Undefined until all have been listed. */
	count(): number | undefined;
	leave(): void;
}

/** Whose tabs are closed together leave together; the watch doesn't pass through all of them. */
const moveAfterMs = 250;
/**
 * Of all texts that are held, in characters, which accounts share: each is one that strangers fill. A character takes one byte, or
 * two in a text with others than Latin-1.
 */
const textRoom = 64 * 1024 ** 2;
/** Of what isn't held, so many are read at once. */
const reads = new FairLimit({ atOnce: 8, atOncePerOwner: 2 });

/** One watch for each kind and namespace, however many visitors there are. It runs while there is one. */
export class SharedWatches {
	readonly #log: Logger;
	readonly #watches = new Map<string, SharedWatch>();
	readonly #room: FairRoom;

	/** @param room for texts, in characters. */
	constructor(log: Logger, room = textRoom) {
		this.#log = log;
		this.#room = new FairRoom(room);
	}

	join(watched: WatchedKind, namespace: string, visitor: Visitor): SharedView {
		const key = `${watched.kind.plural}/${namespace}`;
		const watch =
			this.#watches.get(key) ??
			new SharedWatch(watched, namespace, this.#room, this.#log);
		this.#watches.set(key, watch);
		watch.join(visitor);
		return {
			listed: watch.listed,
			get: (name) => watch.get(name, visitor.client),
			isHeld: (name) => watch.isHeld(name),
			lengthOf: (name) => watch.lengthOf(name),
			names: () => watch.newest().map(({ name }) => name),
			newest: () => watch.newest(),
			count: () => watch.count(),
			leave: () => {
				watch.leave(visitor);
				if (watch.isOver && this.#watches.get(key) === watch)
					this.#watches.delete(key);
			},
		};
	}
}

/** What is held of an object, beside its text if there is room. */
interface ShownObject extends KubeObject {
	digest: string;
	length: number;
	fields: Record<string, string>;
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
	readonly #room: FairRoom;
	readonly #log: Logger;
	readonly #objects = new Map<string, ShownObject>();
	/** The newest of each object, by name. */
	readonly #texts = new Map<string, string>();
	/** In the order in which they came. */
	readonly #visitors = new Set<Visitor>();
	#held: { by: Visitor; stop: AbortController } | undefined;
	/** Sorted once for all who ask, until something comes or goes. */
	#newest: readonly NewestObject[] | undefined;
	#isListed = false;
	/** Of what it holds. */
	#version: string | undefined;

	constructor(
		watched: WatchedKind,
		namespace: string,
		room: FairRoom,
		log: Logger,
	) {
		this.#watched = watched;
		this.#namespace = namespace;
		this.#room = room;
		this.#log = log;
		const { promise, resolve } = Promise.withResolvers<void>();
		this.listed = promise;
		this.#setListed = () => {
			this.#isListed = true;
			resolve();
		};
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
		if (this.isOver) {
			for (const name of this.#texts.keys()) this.#holdText(name, undefined);
			return;
		}
		const held = this.#held;
		setTimeout(() => {
			const [next] = this.#visitors;
			if (next && this.#held === held) this.#hold(next);
		}, moveAfterMs);
	}

	async get(name: string, client: KubeClient): Promise<string | undefined> {
		if (!this.#objects.has(name)) return undefined;
		const text = this.#texts.get(name);
		if (text !== undefined) return text;
		const { kind, view } = this.#watched;
		return reads.run(this.#namespace, async () => {
			// As a list of one, since a visitor may have the right to list and not that to get.
			const { items } = await client.list(kind, {
				namespace: this.#namespace,
				fieldSelector: `metadata.name=${name}`,
			});
			return items[0] && JSON.stringify(view(items[0]));
		});
	}

	isHeld(name: string): boolean {
		return this.#texts.has(name);
	}

	lengthOf(name: string): number {
		return this.#objects.get(name)?.length ?? 0;
	}

	count(): number | undefined {
		return this.#isListed ? this.#objects.size : undefined;
	}

	newest(): readonly NewestObject[] {
		this.#newest ??= [...this.#objects.values()]
			.map((object) => ({
				name: object.metadata.name,
				age: ageOf(object),
				created: new Date(object.metadata.creationTimestamp ?? 0).toISOString(),
				length: object.length,
				fields: object.fields,
			}))
			.sort((a, b) => (a.age < b.age ? 1 : -1));
		return this.#newest;
	}

	kept(object: ShownObject): ShownObject {
		const { name, namespace, uid, resourceVersion, creationTimestamp } =
			object.metadata;
		const text = JSON.stringify(this.#watched.view(object));
		this.#holdText(name, text);
		return {
			metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
			digest: hash("sha256", text),
			length: text.length,
			fields: Object.fromEntries(
				(this.#watched.fields ?? []).map((field) => [
					field,
					valueAt(object, field),
				]),
			),
		} as ShownObject;
	}

	replace(_: string | undefined, objects: ShownObject[]): void {
		const there = new Set(objects.map(({ metadata }) => metadata.name));
		for (const object of this.#objects.values())
			if (!there.has(object.metadata.name)) this.remove(object);
		// A list that failed may have brought what is gone.
		for (const name of this.#texts.keys())
			if (!there.has(name)) this.#holdText(name, undefined);
		for (const object of objects) this.put(object);
	}

	put(object: ShownObject): void {
		const { name } = object.metadata;
		if (this.#objects.get(name)?.digest === object.digest) return;
		this.#objects.set(name, object);
		this.#newest = undefined;
		this.#notify(name);
	}

	remove({ metadata: { name } }: KubeObject): void {
		this.#holdText(name, undefined);
		this.#newest = undefined;
		if (this.#objects.delete(name)) this.#notify(name);
	}

	/** Of what there is no room for, the apiserver is asked when it is sent. After the last visitor nothing is held. */
	#holdText(name: string, text: string | undefined): void {
		const before = this.#texts.get(name);
		if (before !== undefined) {
			this.#texts.delete(name);
			this.#room.giveBack(this.#namespace, before.length);
		}
		if (text === undefined || this.isOver) return;
		if (this.#room.take(this.#namespace, text.length))
			this.#texts.set(name, text);
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
				failed: (error) => {
					if (!stop.signal.aborted) visitor.failed(error);
				},
			},
			this.#log,
			stop.signal,
			this.#version,
		);
	}
}

/** As the apiserver selects: what isn't there is empty. */
function valueAt(object: object, field: string): string {
	const found = field
		.split(".")
		.reduce<unknown>(
			(value, name) => (value as Record<string, unknown> | undefined)?.[name],
			object,
		);
	return found === undefined ? "" : String(found);
}
