import { rm } from "node:fs/promises";
import { onTestFinished } from "vitest";
import { temporaryDirectory } from "../servers/test-server.ts";

/** A temporary directory that goes with the test. */
export async function passingDirectory(name: string): Promise<string> {
	const directory = await temporaryDirectory(name);
	onTestFinished(() => rm(directory, { recursive: true, force: true }));
	return directory;
}
