import { FairLimit } from "../../fair/fair-limit.ts";
import type { Logger } from "../../service/log.ts";
import { backoffMs, pause } from "../../service/pause.ts";
import { type KubeObject, keyOf, type ObjectKey, textOf } from "../resource.ts";
import type { Informer } from "./informer.ts";
import { type ChangeHandler, KubeObjectStore } from "./store.ts";

/** What is held of an object beside its small part. */
export interface HeldPart<P> {
	part: P;
	/** What it takes of its namespace's room, in any unit. */
	size: number;
}

/** Why a part isn't held: it and the namespace's other parts are larger than the room of a namespace. */
export interface NoRoom {
	size: number;
	others: number;
	room: number;
}

export interface PartOptions<T extends KubeObject, P> {
	/** Follows the objects without their large parts. */
	objects: Informer<T>;
	/** What of the large part is wanted, as a text that differs if that does; undefined if nothing is. */
	wanted(object: T): string | undefined;
	/** Differs when the large part may. */
	versionOf(object: T): string;
	/** Asks the apiserver; undefined if the object is gone, or may not be read. */
	read(object: T): Promise<HeldPart<P> | undefined>;
	/** What others see. */
	joined(object: T, part: P | undefined, noRoom: NoRoom | undefined): T;
	/** Of all parts of a namespace. */
	room: number;
	/** Others that must have listed before it is known what is wanted. */
	after: readonly { synced: Promise<void> }[];
	log: Logger;
}

/** What was read, of which version. */
interface Entry<P> {
	version: string;
	wanted: string;
	part?: P | undefined;
	size: number;
	noRoom?: NoRoom;
}

const atOnce = { atOnce: 4, atOncePerOwner: 2 };
const readBackoff = { baseMs: 200, maxMs: 30_000 };

/**
 * As an {@link Informer}, of objects whose large parts would be too much for memory: it follows the small part of all, and reads
 * what is wanted, for which each namespace has so much room. An object changes once its part has been read, so nobody sees a new
 * object with an old part. One whose part was never read isn't there yet.
 */
export class PartInformer<T extends KubeObject, P> {
	readonly kind: Informer<T>["kind"];
	/** Fulfilled once it is known what is wanted, for who can do without what {@link isUnread}: one namespace's parts may take long. */
	readonly listed: Promise<void>;
	/** Fulfilled once all that is wanted has been read, or couldn't be. */
	readonly synced: Promise<void>;
	hasSynced = false;
	readonly #options: PartOptions<T, P>;
	readonly #store: KubeObjectStore<T>;
	readonly #entries = new Map<string, Entry<P>>();
	/** Settles after the first try. */
	readonly #reading = new Map<string, Promise<void>>();
	readonly #sizes = new Map<string, number>();
	readonly #turns = new FairLimit(atOnce);
	readonly #stop = new AbortController();
	/** It is known what is wanted. */
	#isOpen = false;

	constructor(options: PartOptions<T, P>) {
		const { objects, after, log } = options;
		this.kind = objects.kind;
		this.#options = options;
		this.#store = new KubeObjectStore((err) =>
			log.error({ err, kind: this.kind.kind }, "a change handler failed"),
		);
		objects.onChange((object) => this.look(keyOf(object)));
		this.listed = this.#list([objects, ...after]);
		this.synced = this.listed.then(() => this.#sync());
	}

	/** As {@link Informer.run}. */
	async run(...given: Parameters<Informer<T>["run"]>): Promise<void> {
		await this.#options.objects.run(...given);
		this.#stop.abort();
	}

	/** What wasn't read by then stays unread. */
	get isStopped(): boolean {
		return this.#stop.signal.aborted;
	}

	get silentMs(): number {
		return this.#options.objects.silentMs;
	}

	isUnknown(namespace: string): boolean {
		return this.#options.objects.isUnknown(namespace);
	}

	/** The object exists, and what is wanted of it was never read. */
	isUnread(namespace: string, name: string): boolean {
		const object = this.#options.objects.get(namespace, name);
		if (!object || this.#options.wanted(object) === undefined) return false;
		return !this.#entries.has(textOf({ namespace, name }));
	}

	/** Waits until what is wanted of an object has been read, or couldn't be. */
	async settled(namespace: string, name: string): Promise<void> {
		await this.#reading.get(textOf({ namespace, name }));
	}

	get(namespace: string, name: string): T | undefined {
		return this.#store.get({ namespace, name });
	}

	list(namespace?: string): T[] {
		return this.#store.list(namespace);
	}

	onChange(handler: ChangeHandler<T>): void {
		this.#store.onChange(handler);
	}

	index(keysOf: (object: T) => string[]): (key: string) => T[] {
		return this.#store.index(keysOf);
	}

	/** The object has changed, or what is wanted of it. */
	look(key: ObjectKey): void {
		// What couldn't be read until it stopped is missing for ever.
		if (!this.#isOpen || this.#stop.signal.aborted) return;
		const object = this.#options.objects.get(key.namespace, key.name);
		if (object && this.#isMissing(object)) this.#begin(key);
		else this.#show(key, object);
	}

	async #list(others: readonly { synced: Promise<void> }[]): Promise<void> {
		await Promise.all(others.map(({ synced }) => synced));
		this.#isOpen = true;
		for (const object of this.#options.objects.list()) this.look(keyOf(object));
	}

	async #sync(): Promise<void> {
		await Promise.all(this.#reading.values());
		this.hasSynced = true;
	}

	#isMissing(object: T): boolean {
		const wanted = this.#options.wanted(object);
		if (wanted === undefined) return false;
		const entry = this.#entries.get(textOf(keyOf(object)));
		return (
			entry?.wanted !== wanted ||
			entry.version !== this.#options.versionOf(object)
		);
	}

	#begin(key: ObjectKey): void {
		const text = textOf(key);
		if (this.#reading.has(text)) return;
		const tried = Promise.withResolvers<void>();
		this.#reading.set(text, tried.promise);
		void this.#read(key, tried.resolve).then(() => {
			this.#reading.delete(text);
			this.look(key);
			tried.resolve();
		});
	}

	/** Reads until memory has what the object is now. Never throws. */
	async #read(key: ObjectKey, tried: () => void): Promise<void> {
		const { objects, wanted, versionOf, read, log } = this.#options;
		const { signal } = this.#stop;
		for (let failures = 0; !signal.aborted; ) {
			const object = objects.get(key.namespace, key.name);
			if (!object || !this.#isMissing(object)) return;
			const asked = { version: versionOf(object), wanted: wanted(object)! };
			try {
				const held = await this.#turns.run(key.namespace, () => read(object));
				this.#hold(key, { ...asked, size: 0, ...held });
				failures = 0;
			} catch (err) {
				if (signal.aborted) return;
				tried();
				const retryInMs = Math.round(backoffMs(++failures, readBackoff));
				const { kind } = this.kind;
				log.warn({ err, kind, ...key, retryInMs }, "an object can't be read");
				await pause(retryInMs, signal);
			}
		}
	}

	#hold({ namespace, name }: ObjectKey, entry: Entry<P>): void {
		const { room } = this.#options;
		const text = textOf({ namespace, name });
		const before = this.#entries.get(text)?.size ?? 0;
		const others = (this.#sizes.get(namespace) ?? 0) - before;
		const { size, part: _, ...unheld } = entry;
		const isHeld = size === 0 || others + size <= room;
		this.#entries.set(
			text,
			isHeld ? entry : { ...unheld, size: 0, noRoom: { size, others, room } },
		);
		this.#resize(namespace, others + (isHeld ? size : 0));
	}

	#show(key: ObjectKey, object: T | undefined): void {
		const { joined, wanted } = this.#options;
		const text = textOf(key);
		const entry = this.#entries.get(text);
		if (entry && (!object || wanted(object) === undefined)) {
			this.#entries.delete(text);
			const size = this.#sizes.get(key.namespace) ?? 0;
			this.#resize(key.namespace, size - entry.size);
		}
		const { part, noRoom } = this.#entries.get(text) ?? {};
		const shown = this.#store.get(key);
		if (object) this.#store.put(joined(object, part, noRoom), true);
		else if (shown) this.#store.remove(shown);
	}

	/** What there was no room for is read again where there may be. */
	#resize(namespace: string, size: number): void {
		const before = this.#sizes.get(namespace) ?? 0;
		if (size > 0) this.#sizes.set(namespace, size);
		else this.#sizes.delete(namespace);
		if (size >= before) return;
		for (const [text, { noRoom }] of this.#entries) {
			const [owner = "", name = ""] = text.split("/");
			if (!noRoom || owner !== namespace || size + noRoom.size > noRoom.room)
				continue;
			this.#entries.delete(text);
			this.look({ namespace, name });
		}
	}
}
