import type { ObjectKey } from "../../packages/kube/resource.ts";

/** How many Jobs of Runs, Operations and Destinations' checks there may be at once. */
export interface JobLimits {
	overall: number;
	perNamespace: number;
}

/** Why a Run or a check has no slot yet. */
export interface QueuePlace {
	/** Runs and checks of its namespace that come before it. */
	ahead: number;
	/** Slots that its namespace has, and that all have. */
	heldInNamespace: number;
	held: number;
}

/** What wants a Job: a Run, an Operation, or a Destination that is checked. */
export interface JobOwner extends ObjectKey {
	kind: "Run" | "Operation" | "Destination";
}

/**
 * Which Runs and checks may have a Job. Each with a Job holds a slot, as does one that is about to get a Job. A free slot
 * goes to the namespace that holds the fewest, and there to what has waited longest, so that no account waits for
 * another's backlog.
 */
export class JobSlots {
	readonly #limits: JobLimits;
	readonly #onFree = new Map<JobOwner["kind"], (key: ObjectKey) => void>();
	/** By namespace: `<kind>/<name>`. */
	readonly #held = new Map<string, Set<string>>();
	/** By namespace: the age of each owner that waits (packages/kube/resource.ts ageOf). */
	readonly #waiting = new Map<string, Map<string, string>>();

	constructor(limits: JobLimits) {
		this.#limits = limits;
	}

	/** @param listener gets each waiting owner of this kind whose slot is there. */
	onFree(kind: JobOwner["kind"], listener: (key: ObjectKey) => void): void {
		this.#onFree.set(kind, listener);
	}

	/** The owner has a Job. Those beyond the limit count as well. */
	hold(owner: JobOwner): void {
		const { namespace } = owner;
		remove(this.#waiting, owner);
		const ids = this.#held.get(namespace) ?? new Set();
		this.#held.set(namespace, ids.add(idOf(owner)));
	}

	/**
	 * Asks for a slot, or whether it is this owner's turn by now. Undefined when it has one.
	 * @param age A sort key, the oldest first.
	 */
	take(owner: JobOwner, age: string): QueuePlace | undefined {
		const { namespace } = owner;
		if (this.#held.get(namespace)?.has(idOf(owner))) return undefined;
		const ages = this.#waiting.get(namespace) ?? new Map<string, string>();
		this.#waiting.set(namespace, ages.set(idOf(owner), age));
		this.#deal(idOf(owner));
		return this.placeOf(owner);
	}

	/** Why an owner that has asked for a slot has none yet. */
	placeOf(owner: JobOwner): QueuePlace | undefined {
		const { namespace } = owner;
		const ages = this.#waiting.get(namespace);
		const age = ages?.get(idOf(owner));
		if (!ages || age === undefined) return undefined;
		let ahead = 0;
		for (const other of ages.values()) if (other < age) ahead++;
		const heldInNamespace = this.#held.get(namespace)?.size ?? 0;
		return { ahead, heldInNamespace, held: this.#total() };
	}

	/** The owner has no Job and wants none now. */
	release(owner: JobOwner): void {
		remove(this.#waiting, owner);
		if (remove(this.#held, owner)) this.#deal();
	}

	/** @param asking learns of its slot from its own question. */
	#deal(asking?: string): void {
		for (let next = this.#next(); next; next = this.#next()) {
			this.hold(next);
			const { kind, ...key } = next;
			if (idOf(next) !== asking) this.#onFree.get(kind)?.(key);
		}
	}

	/** Whose turn it is, if there is a free slot. */
	#next(): JobOwner | undefined {
		if (this.#total() >= this.#limits.overall) return undefined;
		const turns = Array.from(this.#waiting, ([namespace, ages]) => {
			const held = this.#held.get(namespace)?.size ?? 0;
			const [id, age] = oldest(ages);
			return { namespace, id, age, held };
		});
		const [next] = turns
			.filter(({ held }) => held < this.#limits.perNamespace)
			.sort((a, b) => a.held - b.held || (a.age < b.age ? -1 : 1));
		return next && ownerOf(next.namespace, next.id);
	}

	#total(): number {
		let total = 0;
		for (const ids of this.#held.values()) total += ids.size;
		return total;
	}
}

/** For a status: what a Run or a check waits for. */
export function placeText({
	ahead,
	heldInNamespace,
	held,
}: QueuePlace): string {
	const before =
		ahead === 0
			? "It is the next of this namespace."
			: ahead === 1
				? "1 Job of this namespace comes first."
				: `${ahead} Jobs of this namespace come first.`;
	const jobs =
		heldInNamespace === 1 ? "is 1 Job" : `are ${heldInNamespace} Jobs`;
	return `${before} There ${jobs} in this namespace and ${held} in all.`;
}

/** An owner is woken at its turn. Until then this keeps its place in the status up to date. */
export function nextLookMs({ ahead }: Pick<QueuePlace, "ahead">): number {
	return Math.min(30_000 + ahead * 1_000, 300_000);
}

function idOf({ kind, name }: JobOwner): string {
	return `${kind}/${name}`;
}

function ownerOf(namespace: string, id: string): JobOwner {
	const [kind = "", name = ""] = id.split("/");
	return { kind: kind as JobOwner["kind"], namespace, name };
}

function oldest(ages: Map<string, string>): [id: string, age: string] {
	let [first] = ages;
	for (const entry of ages) if (entry[1] < first![1]) first = entry;
	return first!;
}

/** Whether it was there. */
function remove(
	all: Map<string, Set<string> | Map<string, string>>,
	owner: JobOwner,
): boolean {
	const ids = all.get(owner.namespace);
	const wasThere = ids?.delete(idOf(owner)) ?? false;
	if (ids?.size === 0) all.delete(owner.namespace);
	return wasThere;
}
