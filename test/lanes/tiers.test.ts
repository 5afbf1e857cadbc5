import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { suiteOf } from "./suites.ts";
import { rooms, testFiles, tierOf } from "./tiers.ts";

const root = join(import.meta.dirname, "../..");
const files = testFiles();

test.each([
	["operator/run/decide.test.ts", "check"],
	["api/server.laptop.test.ts", "laptop"],
	["test/chart/values.all.test.ts", "all"],
	["test/protocols/cut/cut-protocol.deep.test.ts", "deep"],
	["ingest/wire/frame.test.ts", "check"],
])("%s is of the tier %s", (file, tier) => {
	expect(tierOf(file)).toBe(tier);
});

test("a room is a folder of test/ or test/faults/ with tests on servers, and has the set-up of its folder", () => {
	const found = rooms([
		"test/chart/values.all.test.ts",
		"test/faults/chaos/chaos.deep.test.ts",
		"test/faults/chaos/checks/checks.test.ts",
		"test/structure.test.ts",
		"test/support/progress.test.ts",
		"api/server.laptop.test.ts",
	]);
	expect(found).toEqual([
		{ name: "chart", folder: "test/chart", setup: "test/chart/setup.ts" },
		{ name: "faults-chaos", folder: "test/faults/chaos" },
	]);
});

test.each(["laptop", "all"] as const)(
	"each file of the tier %s is in one lane or one lane's shards",
	(tier) => {
		const lanes = suiteOf(tier).flat();
		const names = lanes.map(({ name }) => name);
		expect(names).toEqual([...new Set(names)]);
		const all = rooms();
		for (const file of files.filter((each) => tierOf(each) === tier)) {
			const room = all.find(({ folder }) => file.startsWith(`${folder}/`));
			const own = lanes.filter(
				({ project }) => project === (room?.name ?? "beside"),
			);
			const shards = own.map(({ shard }) => shard ?? "1/1");
			expect(shards, file).toEqual(own.map((_, i) => `${i + 1}/${own.length}`));
			expect(own, file).not.toEqual([]);
		}
	},
);

test("each deep file stands in a room, so that make test-deep has a part for it", () => {
	const all = rooms();
	const lost = files
		.filter((file) => tierOf(file) === "deep")
		.filter((file) => !all.some(({ folder }) => file.startsWith(`${folder}/`)));
	expect(lost).toEqual([]);
});

test("what isn't in make test says where make test proves the same, or that nothing does", () => {
	const wrong = files
		.filter((file) => ["all", "deep"].includes(tierOf(file)))
		.filter((file) => !saysWhere(readFileSync(join(root, file), "utf8")));
	expect(wrong).toEqual([]);
});

function saysWhere(text: string): boolean {
	const [first = ""] = text.split("\nimport ");
	if (/^\/\/ On a laptop nothing proves this: \S.*\.$/m.test(first))
		return true;
	const [, named] = /^\/\/ In make test: (\S+)$/m.exec(first) ?? [];
	if (named === undefined || !files.includes(named)) return false;
	return ["check", "laptop"].includes(tierOf(named));
}
