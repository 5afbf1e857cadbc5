import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApi } from "../server.ts";

let directory: string;

beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "console-files-"));
	await mkdir(join(directory, "assets"));
	await writeFile(join(directory, "assets/main-1.js"), "export {};");
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const silent = () => undefined;

test.each([
	["a file that this build lacks", "none.js", {}],
	["a range that the file lacks", "main-1.js", { range: "bytes=9999-" }],
	["an address that names a file twice", "/main-1.js", {}],
])("no cache keeps the answer to %s", async (_, path, headers) => {
	// Nothing asks for the rest.
	const api = createApi({
		rateLimit: { limit: 100, windowMs: 1_000, now: () => 0 },
		console: { directory },
		log: { info: silent, error: silent },
		stopping: new AbortController().signal,
	} as unknown as Parameters<typeof createApi>[0]);
	const url = `/console/assets/${path}`;
	const answer = await api.inject({ method: "GET", url, headers });
	expect(answer.statusCode).toBeGreaterThanOrEqual(400);
	expect(answer.headers["cache-control"]).toBe("no-store");
	for (const name of ["etag", "last-modified", "accept-ranges"])
		expect(answer.headers).not.toHaveProperty(name);
});
