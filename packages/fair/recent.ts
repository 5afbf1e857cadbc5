/** Keeps a value as the latest of a map, which forgets the one that was kept longest ago if it has more than `most`. */
export function remember<T>(
	map: Map<string, T>,
	name: string,
	value: T,
	most: number,
): void {
	map.delete(name);
	map.set(name, value);
	if (map.size > most) map.delete(map.keys().next().value!);
}

/** What each owner has used. The least recently used ones are forgotten, and begin anew. */
export class RecentOwners<T> {
	readonly #all = new Map<string, T>();
	readonly #most: number;
	readonly #create: () => T;

	constructor(most: number, create: () => T) {
		this.#most = most;
		this.#create = create;
	}

	of(owner: string): T {
		const found = this.#all.get(owner) ?? this.#create();
		remember(this.#all, owner, found, this.#most);
		return found;
	}
}
