/** Runs the tasks of each owner one after another. An owner doesn't wait for others' tasks. */
export class Queues {
	readonly #last = new Map<string, Promise<unknown>>();

	async run<T>(owner: string, task: () => Promise<T>): Promise<T> {
		const before = this.#last.get(owner);
		// A failure is told to whoever runs that task.
		const own = Promise.resolve(before?.catch(() => undefined)).then(task);
		this.#last.set(owner, own);
		try {
			return await own;
		} finally {
			if (this.#last.get(owner) === own) this.#last.delete(owner);
		}
	}
}
