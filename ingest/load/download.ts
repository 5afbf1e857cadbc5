import type { Logger } from "../../service/log.ts";
import type { LoadDay } from "./days.ts";
import { ObjectStore } from "./object-store.ts";

/** Enough to hide the store's latency; more would only share the same link. */
const concurrency = 6;

/** Downloads every object of the days into its file. The first failure, a {@link JobFailure}, ends the others too. */
export async function downloadObjects(
	days: LoadDay[],
	log: Logger,
	signal: AbortSignal,
): Promise<void> {
	const stop = new AbortController();
	const store = new ObjectStore(log, AbortSignal.any([signal, stop.signal]));
	const objects = days.flatMap((day) => day.objects).values();
	let failure: unknown;
	const worker = async () => {
		try {
			for (const { key, url, file, bytes } of objects)
				await store.download(
					{ name: `object ${key}`, url, unavailable: "ObjectUnavailable" },
					file,
					bytes,
				);
		} catch (error) {
			failure ??= error;
			stop.abort();
		}
	};
	await Promise.all(Array.from({ length: concurrency }, worker));
	if (failure !== undefined) throw failure;
}
