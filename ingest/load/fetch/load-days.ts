import type {
	Manifest,
	ManifestDate,
	ManifestObject,
} from "../../../contracts/manifest.ts";

/** A day of the manifest, with a local file for each of its objects. */
export interface LoadDay extends ManifestDate {
	objects: DayObject[];
}

export interface DayObject extends ManifestObject {
	/** Path that the object is downloaded to. */
	file: string;
}

/** The manifest's days, ascending, with a file in `directory` for each object. */
export function planDays(manifest: Manifest, directory: string): LoadDay[] {
	return manifest.dates.map((day) => ({
		...day,
		objects: day.objects.map((object, index) => ({
			...object,
			file: `${directory}/${day.date}-${index}.parquet`,
		})),
	}));
}
