import type { Logger } from "../../packages/service/log.ts";
import { objectId } from "../../packages/service/withheld.ts";
import {
	broughtBy,
	type DayObject,
	type LoadDay,
} from "../../packages/warehouses/load/load-day.ts";
import { LinkReader } from "./link-reader.ts";

/** Enough to hide the object store's latency. More would only share the same bandwidth. */
const concurrency = 6;

/** Until the first object has arrived, which a warehouse may begin with: all at once would arrive together, and late. */
const concurrencyAtFirst = 2;

/**
 * Downloads every object of the days into its file. Each day is checked once its objects have arrived, one day at a time,
 * while other downloads go on. The first failure stops the rest, and is thrown once they have stopped.
 * @param onArrival is called with each object, before it is checked.
 */
export async function downloadObjects(
	days: LoadDay[],
	check: (day: LoadDay) => Promise<void>,
	log: Logger,
	signal: AbortSignal,
	onArrival: (object: DayObject) => void = () => undefined,
): Promise<void> {
	const stop = new AbortController();
	const links = new LinkReader(log, AbortSignal.any([signal, stop.signal]));
	const objects = days
		.flatMap((day) => filesOf(day).map((object) => ({ day, object })))
		.values();
	const missing = new Map(days.map((day) => [day, filesOf(day).length]));
	let failure: unknown;
	const fail = (error: unknown) => {
		failure ??= error;
		stop.abort();
	};
	let checks = Promise.resolve();
	const { promise: hasFirst, resolve: noteFirst } =
		Promise.withResolvers<void>();
	const arrived = (day: LoadDay, object: DayObject) => {
		onArrival(object);
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
				await links.download(
					{
						name: `object ${objectId(key)}`,
						url,
						unavailable: "ObjectUnavailable",
					},
					file,
					bytes,
				);
				arrived(day, object);
				noteFirst();
			}
		} catch (error) {
			fail(error);
		} finally {
			noteFirst();
		}
	};
	await Promise.all(
		Array.from({ length: concurrency }, (_, index) =>
			index < concurrencyAtFirst ? worker() : hasFirst.then(worker),
		),
	);
	await checks;
	if (failure !== undefined) throw failure;
}

/** All that is downloaded for a day. */
export function filesOf(day: LoadDay): DayObject[] {
	return [...day.objects, ...broughtBy(day)];
}
