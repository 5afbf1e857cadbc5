import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { LoadDay } from "../fetch/load-days.ts";

/** A Destination, as load and check see it. Every failure is a {@link JobFailure}. */
export interface Destination {
	/**
	 * Puts the manifest's days into the table, each as a whole: Incremental replaces these days and no others, FullReload
	 * replaces the table. The days' objects are on disk and checked. Safe to repeat at any time.
	 * Throws {@link JobFailure} TableIncomplete, before it changes anything, if the table would lack days afterwards.
	 */
	load(input: LoadInput, manifest: Manifest, days: LoadDay[]): Promise<void>;
	/** Verifies that a Run could write, and leaves nothing behind. */
	check(): Promise<void>;
}
