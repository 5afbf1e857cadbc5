import type { NatsConnection } from "@nats-io/transport-node";
import { bucket } from "../../../packages/contracts/nats.ts";
import { storeWith } from "../doubles/store-with.ts";
import type { ArchiveOptions } from "../fixtures/data-plane/running-archive.ts";

/** A step of archiving a cut: what is written where. */
export type Step =
	| "cut"
	| "events"
	| "quarantine"
	| "objects-done"
	| "purge"
	| "ledger";

/**
 * Options for an archive that dies like a killed process: once `diesAt` says so, nothing it does reaches the store or
 * NATS any more. `diesAt` is asked before and after each step, with the number of such steps begun.
 */
export function mortal(
	diesAt: (when: "before" | "after", step: Step, count: number) => boolean,
): { options: ArchiveOptions; died: Promise<void> } {
	const death = Promise.withResolvers<void>();
	let isDead = false;
	const counts = new Map<Step, number>();
	const check = (when: "before" | "after", step: Step) => {
		const count = counts.get(step) ?? 0;
		if (!isDead && diesAt(when, step, count)) {
			isDead = true;
			death.resolve();
		}
		if (isDead) throw new Error("dead");
	};
	const pass = async <T>(step: Step | undefined, act: () => Promise<T>) => {
		if (isDead) throw new Error("dead");
		if (!step) return act();
		counts.set(step, (counts.get(step) ?? 0) + 1);
		check("before", step);
		const result = await act();
		check("after", step);
		return result;
	};
	return {
		died: death.promise,
		options: {
			wrapStore: (store) =>
				storeWith(store, {
					putNew: (key, body, type) =>
						pass(stepOfKey(key), () => store.putNew(key, body, type)),
					get: (key) => pass(undefined, () => store.get(key)),
					list: (prefix, after) => {
						if (isDead) throw new Error("dead");
						return store.list(prefix, after);
					},
					remove: (keys) => pass(undefined, () => store.remove(keys)),
				}),
			wrapConnection: (connection) =>
				new Proxy(connection, {
					get(target, property) {
						const value = Reflect.get(target, property, target);
						if (typeof value !== "function") return value;
						if (property !== "request") return value.bind(target);
						const request: NatsConnection["request"] = (subject, ...rest) =>
							pass(stepOfSubject(subject), () =>
								target.request(subject, ...rest),
							);
						return request;
					},
				}),
		},
	};
}

function stepOfKey(key: string): Step | undefined {
	if (/(^|\/)cuts\//.test(key)) return "cut";
	if (/(^|\/)quarantine\//.test(key)) return "quarantine";
	return /(^|\/)events\//.test(key) ? "events" : undefined;
}

function stepOfSubject(subject: string): Step | undefined {
	if (subject.includes("STREAM.PURGE.tidemill-frames-")) return "purge";
	if (subject.startsWith(`$KV.${bucket.objectsDone}.`)) return "objects-done";
	return subject.startsWith(`$KV.${bucket.ledger}.`) ? "ledger" : undefined;
}
