import type {
	Manifest,
	ManifestDate,
	ManifestObject,
} from "../../contracts/manifest.ts";

/** A day of the manifest with the place on disk of each of its objects. */
export interface LoadDay extends ManifestDate {
	objects: DayObject[];
}

export interface DayObject extends ManifestObject {
	/** Where the object is downloaded to. */
	file: string;
}

/** The manifest's days, ascending, with a file below `directory` for each object. */
export function planDays(manifest: Manifest, directory: string): LoadDay[] {
	return manifest.dates.map((day) => ({
		...day,
		objects: day.objects.map((object, index) => ({
			...object,
			file: `${directory}/${day.date}-${index}.parquet`,
		})),
	}));
}
