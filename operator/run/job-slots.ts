import type { ObjectKey } from "../../kube/resource.ts";

/** How many Jobs of Runs there may be at once. */
export interface JobLimits {
	overall: number;
	perNamespace: number;
}

/** Why a Run has no slot yet. */
export interface Place {
	/** Runs of its namespace that come before it. */
	ahead: number;
	/** Slots that its namespace has, and that all have. */
	heldInNamespace: number;
	held: number;
}

/**
 * Which Runs may have a Job. Each Run with a Job holds a slot, as does one that is about to get a Job. A free slot goes to
 * the namespace that holds the fewest, and there to the oldest Run, so that no account waits for another's backlog.
 */
export class JobSlots {
	readonly #limits: JobLimits;
	readonly #onFree: (key: ObjectKey) => void;
	readonly #held = new Map<string, Set<string>>();
	/** By namespace: the age of each waiting Run (kube/resource.ts ageOf). */
	readonly #waiting = new Map<string, Map<string, string>>();

	/** @param onFree hears of a waiting Run that got a slot. */
	constructor(limits: JobLimits, onFree: (key: ObjectKey) => void) {
		this.#limits = limits;
		this.#onFree = onFree;
	}

	/** The Run has a Job. Those beyond the limit count as well. */
	hold({ namespace, name }: ObjectKey): void {
		remove(this.#waiting, namespace, name);
		const names = this.#held.get(namespace) ?? new Set();
		this.#held.set(namespace, names.add(name));
	}

	/**
	 * Asks for a slot, or whether it is this Run's turn by now. Undefined when the Run has one.
	 * @param age A sort key, the oldest first.
	 */
	take(key: ObjectKey, age: string): Place | undefined {
		const { namespace, name } = key;
		if (this.#held.get(namespace)?.has(name)) return undefined;
		const names = this.#waiting.get(namespace) ?? new Map<string, string>();
		this.#waiting.set(namespace, names.set(name, age));
		this.#deal(key);
		if (this.#held.get(namespace)?.has(name)) return undefined;
		let ahead = 0;
		for (const other of names.values()) if (other < age) ahead++;
		const heldInNamespace = this.#held.get(namespace)?.size ?? 0;
		return { ahead, heldInNamespace, held: this.#total() };
	}

	/** The Run has no Job and wants none now. */
	release({ namespace, name }: ObjectKey): void {
		remove(this.#waiting, namespace, name);
		if (remove(this.#held, namespace, name)) this.#deal();
	}

	/** @param asking hears of its slot from its own question. */
	#deal(asking?: ObjectKey): void {
		for (let next = this.#next(); next; next = this.#next()) {
			this.hold(next);
			const isAsking =
				next.namespace === asking?.namespace && next.name === asking.name;
			if (!isAsking) this.#onFree(next);
		}
	}

	/** Whose turn it is, if there is a free slot. */
	#next(): ObjectKey | undefined {
		if (this.#total() >= this.#limits.overall) return undefined;
		const turns = Array.from(this.#waiting, ([namespace, names]) => {
			const held = this.#held.get(namespace)?.size ?? 0;
			const [name, age] = oldest(names);
			return { namespace, name, age, held };
		});
		return turns
			.filter(({ held }) => held < this.#limits.perNamespace)
			.sort((a, b) => a.held - b.held || (a.age < b.age ? -1 : 1))[0];
	}

	#total(): number {
		let total = 0;
		for (const names of this.#held.values()) total += names.size;
		return total;
	}
}

function oldest(names: Map<string, string>): [name: string, age: string] {
	let [first] = names;
	for (const entry of names) if (entry[1] < first![1]) first = entry;
	return first!;
}

/** Whether it was there. */
function remove(
	all: Map<string, Set<string> | Map<string, string>>,
	namespace: string,
	name: string,
): boolean {
	const names = all.get(namespace);
	const wasThere = names?.delete(name) ?? false;
	if (names?.size === 0) all.delete(namespace);
	return wasThere;
}
