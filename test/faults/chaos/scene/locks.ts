/** One at a time has a name; the others wait in turn. */
export class Locks {
	readonly #last = new Map<string, Promise<void>>();

	/** Settles when the name is free, with what frees it again. */
	async take(name: string): Promise<() => void> {
		const before = this.#last.get(name);
		const { promise, resolve } = Promise.withResolvers<void>();
		this.#last.set(name, promise);
		await before;
		return resolve;
	}
}
