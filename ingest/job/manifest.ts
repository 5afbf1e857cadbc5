import {
	type LoadExtent,
	type Manifest,
	type ManifestObject,
	type ObjectList,
	objectLists,
} from "../../packages/contracts/manifest.ts";
import type { UtcDate } from "../../packages/contracts/utc-date.ts";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";
import { readManifestText } from "../wire/manifest-text.ts";
import type { LinkReader, PresignedLink } from "./link-reader.ts";

/**
 * Reads a manifest, date by date, and checks that it belongs to this Run and is consistent.
 * Throws {@link JobFailure} ManifestInvalid, or ObjectMismatch if a day's objects don't add up to its rows.
 */
export async function readManifest(
	reader: LinkReader,
	link: PresignedLink,
	run: string,
): Promise<Manifest> {
	return checkedManifest(await reader.read(link, parseManifest), run);
}

/** Throws {@link JobFailure} ManifestInvalid if it isn't JSON. */
export async function parseManifest(
	chunks: AsyncIterable<Uint8Array>,
): Promise<Manifest> {
	const dates: Manifest["dates"] = [];
	try {
		const days = readManifestText<Manifest>(chunks);
		for (;;) {
			const { done, value } = await days.next();
			if (!done) dates.push(value);
			else return Array.isArray(value?.dates) ? { ...value, dates } : value;
		}
	} catch (error) {
		if (!(error instanceof SyntaxError)) throw error;
		throw new JobFailure("ManifestInvalid", "The manifest is not JSON");
	}
}

/** The same manifest, if it is one of this Run. Throws as {@link readManifest}. */
export function checkedManifest(manifest: Manifest, run: string): Manifest {
	if (manifest?.version !== 1 || !Array.isArray(manifest.dates))
		throw new JobFailure(
			"ManifestInvalid",
			`The manifest has version ${quote(manifest?.version)}, but this image reads version 1`,
		);
	if (manifest.run !== run)
		throw new JobFailure(
			"ManifestInvalid",
			`The manifest belongs to Run uid ${quote(manifest.run)}, not to ${quote(run)}`,
		);
	if (Number.isNaN(Date.parse(manifest.snapshotTime)))
		throw invalid("snapshotTime", manifest.snapshotTime, "an RFC 3339 time");
	checkAsked(manifest);
	let before = "";
	for (const [index, day] of manifest.dates.entries()) {
		const at = `dates[${index}]`;
		const { date } = day ?? {};
		// The date becomes a part of file names and partitions.
		if (!isDate(date) || date <= before)
			throw invalid(`${at}.date`, date, "YYYY-MM-DD, in ascending order");
		before = date;
		for (const list of objectLists(day)) checkObjects(list, at, date);
	}
	return manifest;
}

function checkObjects(
	{ at: path, objects, rows }: ObjectList,
	day: string,
	date: UtcDate,
): void {
	const at = `${day}.${path}`;
	if (!Array.isArray(objects)) throw invalid(at, objects, "a list");
	for (const [index, object] of objects.entries())
		checkObject(object, `${at}[${index}]`);
	const sum = objects.reduce((total, object) => total + object.rows, 0);
	if (rows !== "any" && sum !== rows)
		throw new JobFailure(
			"ObjectMismatch",
			`The objects of ${date} hold ${sum} rows, but the ledger says ${quote(rows)}`,
		);
}

const extents: readonly LoadExtent[] = ["Whole", "Rest", "Chosen"];

function checkAsked({ asked, closedThrough }: Manifest): void {
	const { extent, start, end } = asked ?? {};
	if (!extents.includes(extent!))
		throw invalid("asked.extent", extent, extents.join(" or "));
	if (!isDate(closedThrough))
		throw invalid("closedThrough", closedThrough, "YYYY-MM-DD");
	if (extent === "Rest" || start !== undefined)
		if (!isDate(start)) throw invalid("asked.start", start, "YYYY-MM-DD");
	if (end !== undefined && !isDate(end))
		throw invalid("asked.end", end, "YYYY-MM-DD");
}

function checkObject(object: ManifestObject | null, at: string): void {
	const { key, url, rows, bytes, inputs } = object ?? {};
	if (!isText(key)) throw invalid(`${at}.key`, key, "a string");
	// No word about its value: a link is a secret.
	if (!isText(url) || !/^https?:\/\//.test(url))
		throw new JobFailure(
			"ManifestInvalid",
			`The manifest's ${at}.url is no link`,
		);
	if (!isCount(rows)) throw invalid(`${at}.rows`, rows, "a whole number");
	if (!isCount(bytes)) throw invalid(`${at}.bytes`, bytes, "a whole number");
	if (inputs !== undefined && !isCount(inputs))
		throw invalid(`${at}.inputs`, inputs, "a whole number");
}

function isText(value: unknown): value is string {
	return typeof value === "string";
}

function isDate(value: unknown): value is UtcDate {
	return isText(value) && /^\d{4}-\d\d-\d\d$/.test(value);
}

function isCount(value: unknown): value is number {
	return Number.isSafeInteger(value) && (value as number) >= 0;
}

function invalid(field: string, value: unknown, right: string): JobFailure {
	return new JobFailure(
		"ManifestInvalid",
		`The manifest's ${field} is ${quote(value)}, but must be ${right}`,
	);
}

/** Without links, and short: it becomes part of a termination message. */
function quote(value: unknown): string {
	const said = isText(value) ? value : (JSON.stringify(value) ?? "missing");
	const text = said.replaceAll(/https?:[^"\s]*/g, "…");
	return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
