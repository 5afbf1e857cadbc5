import { writeFile } from "node:fs/promises";
import {
	type JobResult,
	maxResultBytes,
} from "../../packages/contracts/job.ts";

/**
 * A Job's result as the text of its termination message: valid JSON of at most {@link maxResultBytes}. The log has the last
 * lines for which there is room.
 */
export function encodeResult({ log, ...result }: JobResult): string {
	const text = encodeShort(result);
	const lines = log?.match(/.*\n/g) ?? [];
	for (let first = 0; first < lines.length; first++) {
		const end = { log: lines.slice(first).join("") };
		const withLog = JSON.stringify({ ...JSON.parse(text), ...end });
		if (fits(withLog)) return withLog;
	}
	return text;
}

/** An error's message is cut, between two characters. */
function encodeShort(result: JobResult): string {
	const whole = JSON.stringify(result);
	if (result.outcome === "Succeeded" || fits(whole)) return whole;
	const { error } = result;
	const characters = Array.from(error.message);
	const cut = (length: number) =>
		JSON.stringify({
			...result,
			error: {
				...error,
				message: `${characters.slice(0, length).join("")}…`,
			},
		});
	let [enough, tooMany] = [0, characters.length];
	while (tooMany - enough > 1) {
		const middle = Math.floor((enough + tooMany) / 2);
		if (fits(cut(middle))) enough = middle;
		else tooMany = middle;
	}
	return cut(enough);
}

/** Writes in place, since kubelet mounts the file into the Pod. */
export async function writeResult(
	file: string,
	result: JobResult,
): Promise<void> {
	await writeFile(file, encodeResult(result));
}

function fits(text: string): boolean {
	return Buffer.byteLength(text) <= maxResultBytes;
}
