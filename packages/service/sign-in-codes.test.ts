import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { codeLifeMs, issueCode, spendCode } from "./sign-in-codes.ts";

let directory: string;

beforeEach(async () => {
	directory = await mkdtemp(join(tmpdir(), "tidemill-codes-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

test("a code is spent once, even by two at a time", async () => {
	const code = await issueCode(directory, "secret");
	const spent = await Promise.all(
		Array.from({ length: 5 }, () => spendCode(directory, code)),
	);
	expect(spent.filter((token) => token === "secret")).toHaveLength(1);
	expect(await spendCode(directory, code)).toBeUndefined();
	expect(await readdir(directory)).toEqual([]);
});

test("a code of ten minutes ago is worth nothing, and the next one removes it", async () => {
	const now = Date.now();
	const code = await issueCode(directory, "secret", now - codeLifeMs);
	expect(await spendCode(directory, code, now)).toBeUndefined();
	await issueCode(directory, "older", now - codeLifeMs);
	await issueCode(directory, "newer", now);
	expect(await readdir(directory)).toHaveLength(1);
});

test("a code that was never given out is worth nothing", async () => {
	await issueCode(directory, "secret");
	expect(await spendCode(directory, "../secret")).toBeUndefined();
	expect(await spendCode(directory, "")).toBeUndefined();
});
