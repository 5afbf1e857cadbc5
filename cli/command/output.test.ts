import { expect, test } from "vitest";
import { table } from "./output.ts";

test("a cell neither breaks its line nor writes to the terminal", () => {
	expect(
		table([
			["TYPE", "KIND"],
			["order\n\u001b]52;c;ZXZpbA==\u0007paid", "a\u009b2Jb"],
		]),
	).toBe(
		[
			"TYPE                        KIND",
			"order ]52;c;ZXZpbA== paid   a 2Jb",
			"",
		].join("\n"),
	);
});
