import { expect, test } from "vitest";
import { maxLogBytes, maxLogEndBytes } from "../../packages/contracts/job.ts";
import { createLog } from "../../packages/service/log.ts";
import { LogEnd } from "./process.ts";

test.each([maxLogEndBytes, maxLogBytes])(
	"the last %i bytes of a log are whole lines, the last ones",
	(bytes) => {
		const end = new LogEnd();
		for (let n = 0; n < 9_000; n++) end.write(`${"ü".repeat(20)} ${n}\n`);
		const text = end.last(bytes);
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(bytes);
		expect(Buffer.byteLength(text)).toBeGreaterThan(bytes - 50);
		const lines = text.split("\n");
		expect(lines.every((line) => line === "" || line.startsWith("ü"))).toBe(
			true,
		);
		expect(lines.at(-2)).toMatch(/ 8999$/);
	},
);

test("a line that is too long is left out, and the others stay", () => {
	const end = new LogEnd();
	const long = `${"x".repeat(maxLogEndBytes)}\n`;
	end.write("one\n");
	end.write(`${"x".repeat(maxLogBytes)}\n`);
	end.write(long);
	end.write("two\n");
	expect(end.last(maxLogEndBytes)).toBe("one\ntwo\n");
	expect(end.last(maxLogBytes)).toBe(`one\n${long}two\n`);
});

test("a log that is kept has what is on standard output, and no secret", () => {
	const end = new LogEnd();
	createLog("load", end).info({ rows: 3, url: "https://x?secret" }, "loaded");
	const text = end.last(maxLogBytes);
	expect(JSON.parse(text)).toMatchObject({ role: "load", rows: 3 });
	expect(text).not.toContain("secret");
});
