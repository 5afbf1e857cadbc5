import type { DayObject, LoadDay } from "./days.ts";
import type { ObjectStore } from "./object-store.ts";

/** Enough to hide the store's latency; more would only share the same link. */
const concurrency = 6;

/** Downloads every object of the days into its file. Ends with the first failure: a {@link JobFailure}. */
export async function downloadObjects(
	days: LoadDay[],
	store: ObjectStore,
): Promise<void> {
	const objects = days.flatMap((day) => day.objects).values();
	let failed = false;
	await Promise.all(
		Array.from({ length: concurrency }, async () => {
			for (const object of objects) {
				if (failed) return;
				try {
					await download(object, store);
				} catch (error) {
					failed = true;
					throw error;
				}
			}
		}),
	);
}

async function download(object: DayObject, store: ObjectStore): Promise<void> {
	const { key, url, file, bytes } = object;
	await store.download(
		{ name: key, url, unavailable: "ObjectUnavailable" },
		file,
		bytes,
	);
}
