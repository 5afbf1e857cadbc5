import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { tierOf } from "../lanes/tiers.ts";
import { project } from "../support/servers/role-server.ts";
import { controls } from "./controls.ts";
import { edited } from "./edit.ts";

test("each control has a name of its own", () => {
	const names = controls.map(({ name }) => name);
	expect(names).toEqual([...new Set(names)]);
});

describe.each(controls.map((control) => [control.name, control] as const))(
	"control: %s",
	(_, { seenBy, ...edit }) => {
		test("fits the code", async () => {
			expect(await edited(edit)).toContain(edit.replace);
		});

		test("names tests of the tier that must see it", () => {
			const { file, test = "", race } = seenBy;
			const tiers = race === undefined ? ["check", "laptop"] : ["all"];
			expect(tiers).toContain(tierOf(file));
			expect(textOf(file)).toContain(test);
		});
	},
);

/** Of a file of tests, with the cases that it may have beside it. */
function textOf(file: string): string {
	const cases = globSync(`${dirname(file)}/*-cases.ts`, { cwd: project });
	return [file, ...cases]
		.map((each) => readFileSync(join(project, each), "utf8"))
		.join("\n");
}
