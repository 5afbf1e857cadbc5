import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { hostileTexts } from "../../test/support/strangers/hostile-texts.ts";
import { objectsText, print, remark, table } from "./output.ts";

afterEach(() => {
	vi.restoreAllMocks();
});

test("nothing that a command says writes to the terminal", () => {
	const said: string[] = [];
	for (const stream of [process.stdout, process.stderr])
		vi.spyOn(stream, "write").mockImplementation((text) => {
			said.push(String(text));
			return true;
		});
	for (const text of hostileTexts) {
		print(text);
		remark(text);
	}
	expect(said).toHaveLength(2 * hostileTexts.length);
	expect(said.join("").replaceAll(/[\n\t]/g, "")).not.toMatch(
		/[\p{Cc}\u202e]/u,
	);
});

test("each command prints by these functions alone", () => {
	const cli = join(import.meta.dirname, "..");
	// The version is printed before anything is loaded.
	const own = ["command/output.ts", "bin/tidemill.ts"];
	const others = globSync("**/*.ts", { cwd: cli }).filter(
		(file) =>
			!own.includes(file) &&
			!file.endsWith(".test.ts") &&
			/\b(stdout|stderr)\.write\(|console\.\w+\(/.test(
				readFileSync(join(cli, file), "utf8"),
			),
	);
	expect(others).toEqual([]);
});

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
