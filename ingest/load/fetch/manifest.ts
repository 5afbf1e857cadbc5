import type { Manifest } from "../../../contracts/manifest.ts";
import { JobFailure } from "../../job/errors.ts";

/**
 * Parses a manifest, and checks that it belongs to this Run and is consistent.
 * Throws {@link JobFailure} ManifestInvalid, or ObjectMismatch if a day's objects don't add up to its rows.
 */
export function parseManifest(text: string, run: string): Manifest {
	let manifest: Manifest;
	try {
		manifest = JSON.parse(text) as Manifest;
	} catch {
		throw new JobFailure("ManifestInvalid", "The manifest is not JSON");
	}
	if (manifest?.version !== 1 || !Array.isArray(manifest.dates))
		throw new JobFailure(
			"ManifestInvalid",
			`The manifest has version ${manifest?.version}, but this image reads version 1`,
		);
	if (manifest.run !== run)
		throw new JobFailure(
			"ManifestInvalid",
			`The manifest belongs to Run uid ${manifest.run}, not to ${run}`,
		);
	for (const { date, rows, objects } of manifest.dates) {
		const sum = objects.reduce((total, object) => total + object.rows, 0);
		if (sum !== rows)
			throw new JobFailure(
				"ObjectMismatch",
				`The objects of ${date} hold ${sum} rows, but the ledger says ${rows}`,
			);
	}
	return manifest;
}
