import { expect, test } from "vitest";
import { parse } from "yaml";
import { objectsText, table } from "./output.ts";

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

test.each(["\u202e", "\u2066", "\u061c", "\u2028"])(
	"no output shows text backwards or breaks a line (%j)",
	async (character) => {
		const type = `a${character}b`;
		expect(table([["TYPE"], [type]])).toBe("TYPE\na b\n");
		const object = { metadata: { name: "x" }, spec: { type, text: "a\n\tb" } };
		for (const format of ["json", "yaml"] as const) {
			const text = await objectsText([object], format, { asList: false });
			expect(text).not.toContain(character);
			expect(parse(text)).toEqual(object);
		}
	},
);

test("a reader of YAML 1.1 finds the same texts, such as a time of day", async () => {
	const spec = { at: "06:30", flag: "on", name: "orders" };
	const object = { metadata: { name: "x" }, spec };
	const text = await objectsText([object], "yaml", { asList: false });
	expect(text).toContain('at: "06:30"\n  flag: "on"\n  name: orders\n');
});
