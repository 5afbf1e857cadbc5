import { type JobResult, maxResultBytes } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { Logger } from "../../../service/log.ts";
import { encodeResult } from "../../job/result.ts";
import { retry } from "../../job/retry.ts";
import { reasonOf } from "./link-reader.ts";

/** Short: the Pod is about to end, and its termination message has the result already. */
const deadlineMs = 10_000;

/** Puts a Job's result into the bucket, where it outlives the Pod. Never throws. */
export async function storeResult(
	{ url, headers }: NonNullable<Manifest["result"]>,
	result: JobResult,
	log: Logger,
): Promise<void> {
	const text = encodeResult(result);
	// The link is for this length alone, so that it gives away no room in the bucket. JSON may end in spaces (RFC 8259 §2).
	const padding = " ".repeat(maxResultBytes - Buffer.byteLength(text));
	const signal = AbortSignal.timeout(deadlineMs);
	try {
		await retry(
			{
				attempts: 4,
				signal,
				isTransient: () => true,
				onRetry: (error, attempt) =>
					log.warn(
						{ attempt, reason: reasonOf(error) },
						"putting the result into the bucket failed; trying again",
					),
			},
			async () => {
				const response = await fetch(url, {
					method: "PUT",
					headers,
					body: text + padding,
					redirect: "error",
					signal,
				});
				await response.body?.cancel();
				if (!response.ok) throw new Error(`HTTP status ${response.status}`);
			},
		);
	} catch (error) {
		log.warn(
			{ reason: reasonOf(error) },
			"the result is not in the bucket, only in the Pod's status",
		);
	}
}
