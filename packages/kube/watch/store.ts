import { type KubeObject, keyOf, type ObjectKey, textOf } from "../resource.ts";

/**
 * Called with every change after the store has it. `previous` is absent for a new object. When `deleted` is true, `object` is
 * the last known state.
 */
export type ChangeHandler<T extends KubeObject> = (
	object: T,
	previous: T | undefined,
	deleted: boolean,
) => void;

/** The objects of one kind in memory, with indexes and change handlers. */
export class KubeObjectStore<T extends KubeObject> {
	readonly #objects = new Map<string, T>();
	readonly #handlers: ChangeHandler<T>[] = [];
	readonly #indexes: Index<T>[] = [];
	readonly #onHandlerError: (error: unknown) => void;
	/** What is held of an object that came, for a reflector. */
	readonly kept: ((object: T) => T) | undefined;

	/** @param onHandlerError gets what a handler throws. The store and the other handlers go on. */
	constructor(
		onHandlerError: (error: unknown) => void,
		kept?: (object: T) => T,
	) {
		this.#onHandlerError = onHandlerError;
		this.kept = kept;
	}

	get(key: ObjectKey): T | undefined {
		return this.#objects.get(textOf(key));
	}

	list(namespace?: string): T[] {
		const all = [...this.#objects.values()];
		return namespace === undefined
			? all
			: all.filter((object) => object.metadata.namespace === namespace);
	}

	onChange(handler: ChangeHandler<T>): void {
		this.#handlers.push(handler);
	}

	/** Returns a lookup of the objects for which `keysOf` gave the key. */
	index(keysOf: (object: T) => string[]): (key: string) => T[] {
		const index = new Index(keysOf);
		for (const object of this.#objects.values()) index.add(object);
		this.#indexes.push(index);
		return (key) => index.get(key);
	}

	/** @param isNews whether it differs, although its version doesn't. */
	put(object: T, isNews = false): void {
		const key = textOf(keyOf(object));
		const namesake = this.#objects.get(key);
		// Another object has the name now: handlers must hear that the former one is gone.
		if (namesake && namesake.metadata.uid !== object.metadata.uid)
			this.remove(namesake);
		const previous = this.#objects.get(key);
		if (
			!isNews &&
			previous &&
			previous.metadata.resourceVersion === object.metadata.resourceVersion
		)
			return;
		if (previous) for (const index of this.#indexes) index.delete(previous);
		this.#objects.set(key, object);
		for (const index of this.#indexes) index.add(object);
		this.#notify(object, previous, false);
	}

	/** @param object the last state, as the deletion event carries it. */
	remove(object: T): void {
		const key = textOf(keyOf(object));
		const previous = this.#objects.get(key);
		if (!previous) return;
		this.#objects.delete(key);
		for (const index of this.#indexes) index.delete(previous);
		this.#notify(object, previous, true);
	}

	/** Makes the store hold exactly these objects of the namespace, or of all namespaces when it is undefined. */
	replace(namespace: string | undefined, objects: T[]): void {
		const kept = new Set(objects.map((object) => textOf(keyOf(object))));
		for (const object of this.list(namespace))
			if (!kept.has(textOf(keyOf(object)))) this.remove(object);
		for (const object of objects) this.put(object);
	}

	#notify(object: T, previous: T | undefined, deleted: boolean): void {
		for (const handler of this.#handlers)
			try {
				handler(object, previous, deleted);
			} catch (error) {
				this.#onHandlerError(error);
			}
	}
}

class Index<T extends KubeObject> {
	readonly #keysOf: (object: T) => string[];
	readonly #objects = new Map<string, Set<T>>();

	constructor(keysOf: (object: T) => string[]) {
		this.#keysOf = keysOf;
	}

	get(key: string): T[] {
		return [...(this.#objects.get(key) ?? [])];
	}

	add(object: T): void {
		for (const key of this.#keysOf(object)) {
			const objects = this.#objects.get(key) ?? new Set();
			this.#objects.set(key, objects.add(object));
		}
	}

	delete(object: T): void {
		for (const key of this.#keysOf(object)) {
			const objects = this.#objects.get(key);
			objects?.delete(object);
			if (objects?.size === 0) this.#objects.delete(key);
		}
	}
}
