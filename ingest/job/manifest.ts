import {
	type JobResult,
	logSizes,
	maxResultBytes,
} from "../../packages/contracts/job.ts";
import {
	type LoadExtent,
	type Manifest,
	type ManifestObject,
	maxReportBytes,
	type ObjectList,
	objectLists,
} from "../../packages/contracts/manifest.ts";
import type { UtcDate } from "../../packages/contracts/utc-date.ts";
import type { Logger } from "../../packages/service/log.ts";
import { JobFailure, retry } from "../../packages/warehouses/load/failure.ts";
import { readManifestText } from "../wire/manifest-text.ts";
import {
	answerTo,
	LinkError,
	type LinkReader,
	type PresignedLink,
	reasonAt,
	reasonOf,
} from "./link-reader.ts";
import { encodeResult, type JobContext } from "./process.ts";

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

/** Short: the Pod is about to end, and its termination message has the result already. */
const deadlineMs = 10_000;

type PutLink = NonNullable<Manifest["result"]>;

/** Puts a Job's result into the bucket, where it outlives the Pod. Never throws. */
export async function storeResult(
	link: PutLink,
	result: JobResult,
	log: Logger,
): Promise<void> {
	const text = encodeResult(result);
	await putOrWarn(link, text, maxResultBytes, log, {
		what: "the result",
		otherwise: "the result is not in the bucket, only in the Pod's status",
	});
}

/** Puts the end of a Job's log into the bucket, unless the result has all of it. Never throws. */
export async function storeLog(
	links: PutLink[],
	result: JobResult,
	text: string,
	log: Logger,
): Promise<void> {
	const { log: kept } = JSON.parse(encodeResult(result)) as JobResult;
	if (kept === text) return;
	const size = logSizes.findIndex((size) => Buffer.byteLength(text) <= size);
	const link = links[size];
	if (!link) return;
	await putOrWarn(link, text, logSizes[size]!, log, {
		what: "the log",
		otherwise: "the log is not in the bucket, only its last lines are kept",
	});
}

async function putOrWarn(
	link: PutLink,
	text: string,
	bytes: number,
	log: Logger,
	{ what, otherwise }: { what: string; otherwise: string },
): Promise<void> {
	const signal = AbortSignal.timeout(deadlineMs);
	try {
		await put(link, padded(text, bytes), { what, attempts: 4, signal, log });
	} catch (error) {
		log.warn({ reason: reasonOf(error) }, otherwise);
	}
}

/** Puts an Operation's report into the bucket. Throws {@link JobFailure} ReportNotStored, or the signal's reason. */
export async function storeReport(
	link: PutLink,
	report: string,
	context: Pick<JobContext, "log" | "signal">,
): Promise<void> {
	await putOrFail(link, padded(report, maxReportBytes), "the report", context);
}

/** Puts a part of an Import into the bucket. Throws {@link JobFailure} ReportNotStored, or the signal's reason. */
export async function storePart(
	link: PutLink,
	part: Buffer<ArrayBuffer>,
	context: Pick<JobContext, "log" | "signal">,
): Promise<void> {
	await putOrFail(link, part, "a part of the events", context);
}

async function putOrFail(
	link: PutLink,
	body: string | Buffer<ArrayBuffer>,
	what: string,
	{ log, signal }: Pick<JobContext, "log" | "signal">,
): Promise<void> {
	try {
		await put(link, body, { what, attempts: 8, signal, log });
	} catch (error) {
		signal.throwIfAborted();
		throw new JobFailure(
			"ReportNotStored",
			`Putting ${what} into the bucket failed: ${reasonAt(link.url, error)}`,
		);
	}
}

/**
 * A link is for one length alone, so that it gives away no room in the bucket. JSON may end in spaces (RFC 8259 §2).
 * @param bytes The length that the link is for.
 */
function padded(text: string, bytes: number): string {
	return text + " ".repeat(bytes - Buffer.byteLength(text));
}

async function put(
	{ url, headers }: PutLink,
	body: string | Buffer<ArrayBuffer>,
	options: { what: string; attempts: number; signal: AbortSignal; log: Logger },
): Promise<void> {
	const { what, attempts, signal, log } = options;
	await retry(
		{
			attempts,
			signal,
			isTransient: () => true,
			onRetry: (error, attempt) =>
				log.warn(
					{ attempt, reason: reasonOf(error) },
					`putting ${what} into the bucket failed; trying again`,
				),
		},
		async () => {
			const both = AbortSignal.any([signal, AbortSignal.timeout(30_000)]);
			const response = await answerTo(url, both, {
				method: "PUT",
				headers: { ...headers, "content-length": Buffer.byteLength(body) },
				body,
			});
			response.resume();
			const { statusCode = 0 } = response;
			if (statusCode < 200 || statusCode > 299)
				throw new LinkError(statusCode, "");
		},
	);
}
