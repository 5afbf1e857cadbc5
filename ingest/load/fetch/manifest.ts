import type { Manifest } from "../../../contracts/manifest.ts";
import { JobFailure } from "../errors.ts";

/**
 * Reads a manifest's text and checks that it is this Run's and agrees with itself.
 * Throws {@link JobFailure} ManifestInvalid, or ObjectMismatch for a day whose objects don't add up to its rows.
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
			`The manifest has version ${manifest?.version}; this image knows version 1`,
		);
	if (manifest.run !== run)
		throw new JobFailure(
			"ManifestInvalid",
			`The manifest is of Run uid ${manifest.run}, not of ${run}`,
		);
	for (const { date, rows, objects } of manifest.dates) {
		const sum = objects.reduce((total, object) => total + object.rows, 0);
		if (sum !== rows)
			throw new JobFailure(
				"ObjectMismatch",
				`The objects of ${date} hold ${sum} rows where the ledger says ${rows}`,
			);
	}
	return manifest;
}
