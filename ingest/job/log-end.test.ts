import { expect, test } from "vitest";
import { maxLogEndBytes } from "../../contracts/job.ts";
import { createLog } from "../../service/log.ts";
import { LogEnd } from "./log-end.ts";

test("the end of a log is whole lines, the last ones, within its bytes", () => {
	const end = new LogEnd();
	for (let n = 0; n < 1_000; n++) end.write(`${"ü".repeat(20)} ${n}\n`);
	expect(Buffer.byteLength(end.text)).toBeLessThanOrEqual(maxLogEndBytes);
	expect(Buffer.byteLength(end.text)).toBeGreaterThan(maxLogEndBytes - 50);
	const lines = end.text.split("\n");
	expect(lines.every((line) => line === "" || line.startsWith("ü"))).toBe(true);
	expect(lines.at(-2)).toMatch(/ 999$/);
});

test("a line that is too long is left out, and the others stay", () => {
	const end = new LogEnd();
	end.write("one\n");
	end.write(`${"x".repeat(maxLogEndBytes)}\n`);
	end.write("two\n");
	expect(end.text).toBe("one\ntwo\n");
});

test("a log that is kept has what is on standard output, and no secret", () => {
	const end = new LogEnd();
	createLog("load", end).info({ rows: 3, url: "https://x?secret" }, "loaded");
	expect(JSON.parse(end.text)).toMatchObject({ role: "load", rows: 3 });
	expect(end.text).not.toContain("secret");
});
