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
export function planDays({ dates }: Manifest, directory: string): LoadDay[] {
	return dates.map((day) => ({
		...day,
		objects: filesFor(day.objects, `${directory}/${day.date}`),
	}));
}

/** The same days with what is in quarantine. */
export function planQuarantine(
	{ dates }: Manifest,
	directory: string,
): LoadDay[] {
	return dates.map(({ date, quarantine: { rows, objects } = none }) => ({
		date,
		rows,
		objects: filesFor(objects, `${directory}/${date}-quarantine`),
	}));
}

const none = { rows: 0, objects: [] };

function filesFor(objects: ManifestObject[], prefix: string): DayObject[] {
	return objects.map((object, index) => ({
		...object,
		file: `${prefix}-${index}.parquet`,
	}));
}
