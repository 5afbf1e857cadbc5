// In make test: local/machine/supervisor.test.ts
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tryLock, withLock } from "./lock.ts";

const file = () => join(mkdtempSync(join(tmpdir(), "tidemill-lock-")), "lock");

test("a lock has one owner and is free after its release", async () => {
	const path = file();
	const first = await tryLock(path);
	expect(await tryLock(path)).toMatchObject({ owner: { pid: process.pid } });
	if ("release" in first) await first.release();
	expect(await tryLock(path)).toHaveProperty("release");
});

test.each([
	["of a process that is gone", '{"pid":4194304,"startedAt":"x"}'],
	[
		"of a process id that another process has now",
		`{"pid":${process.pid},"startedAt":"x"}`,
	],
	["that is empty", ""],
])("a lock file %s counts as free", async (_case, content) => {
	const path = file();
	writeFileSync(path, content);
	expect(await tryLock(path)).toHaveProperty("release");
});

test("of many that find a dead process's lock only one gets it", async () => {
	for (let round = 0; round < 30; round++) {
		const path = file();
		writeFileSync(path, '{"pid":4194304,"startedAt":"x"}');
		const all = await Promise.all(
			Array.from({ length: 10 }, () => tryLock(path)),
		);
		const [mine, ...others] = all.filter((lock) => "release" in lock);
		expect(others).toEqual([]);
		await mine!.release();
		expect(await tryLock(path)).toHaveProperty("release");
	}
});

test("actions under one lock never overlap", async () => {
	const path = file();
	let inside = 0;
	const enter = () =>
		withLock(
			path,
			() => {},
			async () => {
				expect(++inside).toBe(1);
				await new Promise(setImmediate);
				inside--;
			},
		);
	await Promise.all([enter(), enter(), enter()]);
});
