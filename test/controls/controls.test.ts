import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
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
			const tier = /\.(laptop|all|deep)\.test\.ts$/.exec(file)?.[1] ?? "unit";
			const tiers = race === undefined ? ["unit", "laptop"] : ["all"];
			expect(tiers).toContain(tier);
			expect(readFileSync(join(project, file), "utf8")).toContain(test);
		});
	},
);
