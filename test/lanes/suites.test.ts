import { globSync } from "node:fs";
import { join, matchesGlob } from "node:path";
import { expect, test } from "vitest";
import { suites } from "./suites.ts";

test("each file of tests on servers is in one lane of make test, and no lane asks for files that aren't there", () => {
	const files = globSync(
		"test/{console,control-plane,data-plane,faults,promises}/**/*.test.ts",
		{ cwd: join(import.meta.dirname, "../..") },
	);
	const lanes = suites.test!.flatMap((stage) => Object.entries(stage));
	const lanesOf = (file: string) =>
		lanes
			.filter(
				([, { folders = [], without = [] }]) =>
					folders.some((folder) => file.startsWith(folder)) &&
					!without.some((glob) => matchesGlob(file, glob)),
			)
			.map(([name]) => name);
	for (const file of files) expect(lanesOf(file), file).toHaveLength(1);
	for (const [name, { folders = [] }] of lanes)
		for (const folder of folders)
			expect(
				files.filter((file) => file.startsWith(folder)),
				`${name}: ${folder}`,
			).not.toEqual([]);
});
