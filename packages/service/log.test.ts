import { expect, test, vi } from "vitest";
import { createLog } from "./log.ts";

test("a line of the log is JSON, and writes nothing to the terminal on which somebody reads it", () => {
	const lines: string[] = [];
	const own = vi.spyOn(process.stdout, "write").mockReturnValue(true);
	const log = createLog("test", { write: (line) => lines.push(line) });
	log.warn({ type: "a\u009b2J\u202e\u001b[2J\nb" }, "\u2066c");
	own.mockRestore();
	expect(lines).toHaveLength(1);
	expect(lines[0]!.trimEnd()).not.toMatch(/[\p{Cc}\u202e\u2066]/u);
	expect(JSON.parse(lines[0]!)).toMatchObject({
		type: "a\u009b2J\u202e\u001b[2J\nb",
		msg: "\u2066c",
	});
});
