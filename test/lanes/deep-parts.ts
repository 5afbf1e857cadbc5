import { rooms, testFiles, tierOf } from "./tiers.ts";

export interface DeepPart {
	/** A program and its arguments, from the root. */
	command: string[];
	env?: Record<string, string>;
}

/** But for those of chaos, whose two files have options and so commands of their own. */
const withDeepFiles = rooms(
	testFiles().filter((file) => tierOf(file) === "deep"),
).filter(({ name }) => name !== "faults-chaos");

/** The parts of `make test-deep` by name. Each ends within two hours on two cores. */
export const deepParts: Record<string, DeepPart> = {
	// The deep files of a room, such as `protocols`.
	...Object.fromEntries(
		withDeepFiles.map(({ name }) => [
			name,
			{
				command: [
					process.execPath,
					"node_modules/vitest/vitest.mjs",
					"run",
					"--project",
					name,
					".deep.test.ts",
				],
				env: { TEST_DEEP: "1" },
			},
		]),
	),
	chaos: { command: ["make", "chaos", "SEEDS=1..100"] },
	"chaos-2": { command: ["make", "chaos", "SEEDS=101..200"] },
	"chaos-controls": { command: ["make", "chaos-controls"] },
	"table-histories": { command: ["make", "table-histories", "SEEDS=1..200"] },
	fuzz: { command: ["make", "fuzz"] },
	mutants: { command: ["make", "mutants"] },
	"test-ecosystem": { command: ["make", "test-ecosystem"] },
	schemathesis: { command: ["make", "schemathesis"] },
	"bench-pairs": { command: ["make", "bench-pairs"] },
};
