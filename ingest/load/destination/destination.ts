import type { LoadInput } from "../../../contracts/job.ts";
import type { LoadDay } from "../fetch/load-days.ts";

/** A Destination, as load and check see it. Every failure is a {@link JobFailure}. */
export interface Destination {
	/**
	 * Puts the manifest's days into the table, each as a whole: Incremental replaces these days and no others, FullReload
	 * replaces the table. The days' objects are on disk and checked. Safe to repeat at any time.
	 * @param snapshotMs the days hold every event from before this instant; milliseconds since the epoch.
	 */
	load(input: LoadInput, days: LoadDay[], snapshotMs: number): Promise<void>;
	/** Verifies that a Run could write, and leaves nothing behind. */
	check(): Promise<void>;
}
