import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CheckInput, DestinationInput } from "../contracts/job.ts";
import type { LoadEnd } from "./load-fixture.ts";
import { temporaryDirectory } from "./test-server.ts";
import { startTidemill } from "./tidemill-process.ts";

/** Runs `tidemill check` on a destination, as a Destination's Job does. */
export async function checkDestination(
	destination: DestinationInput,
	env: Record<string, string>,
): Promise<LoadEnd> {
	const directory = await temporaryDirectory("check");
	try {
		const input: CheckInput = { version: 1, account: "shop", destination };
		const [file, result, scratch] = ["input.json", "result", "scratch"].map(
			(name) => join(directory, name),
		) as [string, string, string];
		await writeFile(file, JSON.stringify(input));
		await mkdir(scratch);
		const { ended } = startTidemill(["check", "--input", file], {
			TIDEMILL_SCRATCH: scratch,
			TIDEMILL_RESULT: result,
			...env,
		});
		const { exitCode, stdout, stderr } = await ended;
		return {
			exitCode,
			result: JSON.parse(await readFile(result, "utf8")),
			log: stdout + stderr,
		};
	} finally {
		await rm(directory, { recursive: true, force: true });
	}
}
