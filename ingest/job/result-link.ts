import {
	type JobResult,
	logSizes,
	maxResultBytes,
} from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { maxReportBytes } from "../../packages/contracts/operation.ts";
import type { Logger } from "../../packages/service/log.ts";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";
import { retry } from "../../packages/warehouses/load/retry.ts";
import { answerTo, LinkError, reasonAt, reasonOf } from "./link-reader.ts";
import { encodeResult, type JobContext } from "./process.ts";

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
