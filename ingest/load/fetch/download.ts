import type { Logger } from "../../../service/log.ts";
import type { LoadDay } from "../days.ts";
import { ObjectStore } from "./object-store.ts";

/** Enough to hide the store's latency; more would only share the same link. */
const concurrency = 6;

/**
 * Downloads every object of the days into its file, and has each day checked once it is there, one at a time, while others
 * are still coming. The first failure, of either, ends the rest and is thrown: once nothing is under way any more.
 */
export async function downloadObjects(
	days: LoadDay[],
	check: (day: LoadDay) => Promise<void>,
	log: Logger,
	signal: AbortSignal,
): Promise<void> {
	const stop = new AbortController();
	const store = new ObjectStore(log, AbortSignal.any([signal, stop.signal]));
	const objects = days
		.flatMap((day) => day.objects.map((object) => ({ day, object })))
		.values();
	const missing = new Map(days.map((day) => [day, day.objects.length]));
	let failure: unknown;
	const fail = (error: unknown) => {
		failure ??= error;
		stop.abort();
	};
	let checks = Promise.resolve();
	const arrived = (day: LoadDay) => {
		const left = missing.get(day)! - 1;
		missing.set(day, left);
		if (left > 0) return;
		checks = checks
			.then(() => (stop.signal.aborted ? undefined : check(day)))
			.catch(fail);
	};
	const worker = async () => {
		try {
			for (const { day, object } of objects) {
				const { key, url, file, bytes } = object;
				await store.download(
					{ name: `object ${key}`, url, unavailable: "ObjectUnavailable" },
					file,
					bytes,
				);
				arrived(day);
			}
		} catch (error) {
			fail(error);
		}
	};
	await Promise.all(Array.from({ length: concurrency }, worker));
	await checks;
	if (failure !== undefined) throw failure;
}
