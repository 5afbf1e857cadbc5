import { setTimeout as delay } from "node:timers/promises";

/** What a seed can find broken. */
export type Check =
	/** Roles become ready, and events are acknowledged again. */
	| "ready"
	| "progress"
	/** The step that a fault waits for is reached. */
	| "fault"
	/** No archive alarms; after a restore, all do. */
	| "alarm"
	/** All is archived in the end. */
	| "archived"
	/**
	 * Each acknowledged event is in one object once with its body, among the rows or in quarantine; of those of unknown
	 * outcome, each at most once; and no rejected one.
	 */
	| "once"
	/** What is lost is counted where people see it, or said to be unknown since a time; what isn't lost isn't told. */
	| "told"
	/** A URL that has a route is never answered 404. */
	| "route"
	/** Each row has what its Source's tracking plan says of it, and is in quarantine if the plan says so. */
	| "validated"
	/** Each row has the date on which its event was received. */
	| "date"
	/** Cuts are disjoint and leave no gap. */
	| "cuts"
	/** Objects are those that the cut records name, with as many rows. */
	| "objects"
	/** The ledger counts what is in the objects: rows, those in quarantine, and deviations from the plan. */
	| "ledger"
	/** Closed dates are compacted, and what that replaced is gone a day later. */
	| "compacted"
	/** A Source that moves is whole in each manifest, whichever of its shards is asked. */
	| "manifest"
	/** A sender's key that was used before a move still names its event. */
	| "keys"
	/** The table has what the objects have, and never fewer rows than before without a person's word. */
	| "table";

/** A promise that is broken. */
export class Violation extends Error {
	override name = "Violation";
	readonly check: Check;

	constructor(check: Check, what: string) {
		super(`${check}: ${what}`);
		this.check = check;
	}
}

/** Longer than the two minutes after which archive decides what a cut has lost. */
const patienceMs = Number(process.env.CHAOS_PATIENCE_MS ?? 240_000);

/**
 * Waits until `look` returns undefined. Until then it returns, or throws, what is still missing, which is the violation
 * when it takes too long. A {@link Violation} that it throws ends the wait at once.
 */
export async function eventually(
	check: Check,
	look: () => string | undefined | Promise<string | undefined>,
): Promise<void> {
	const deadline = performance.now() + patienceMs;
	for (;;) {
		let missing: string | undefined;
		try {
			missing = await look();
		} catch (error) {
			if (error instanceof Violation) throw error;
			missing = String(error);
		}
		if (missing === undefined) return;
		if (performance.now() > deadline) throw new Violation(check, missing);
		await delay(5);
	}
}
