import type { LaneOptions } from "./lane.ts";

/** Lanes that run side by side. */
export type Stage = Record<
	string,
	Pick<LaneOptions, "projects" | "folders" | "without" | "niceness">
>;

/** Beginnings of files that the lane `outages` has, so that all lanes end together: its own are the fewest. */
const moved = [
	"test/control-plane/kube-informer",
	"test/data-plane/receive-commit",
	"test/faults/data-plane/archive",
	"test/faults/data-plane/compaction",
];
const without = moved.map((beginning) => `${beginning}*`);

/**
 * `make test` and `make e2e`: lanes of a stage run side by side, each as a vitest process of its own; stages run one after the
 * other. A lane of servers waits about half of its time, so four leave a part of two cores to `check`, which only computes.
 * What measures time has the machine to itself.
 */
export const suites: Record<string, Stage[]> = {
	test: [
		{
			check: { projects: ["unit", "slow"], niceness: 5 },
			control: {
				projects: ["control-plane"],
				folders: ["test/control-plane/"],
				without,
			},
			// With a control plane of its own, which costs less than what the lane would wait longer without.
			outages: {
				projects: ["control-plane", "data-plane", "chaos"],
				folders: ["test/faults/control-plane/", "test/faults/chaos/", ...moved],
			},
			data: {
				projects: ["data-plane"],
				folders: ["test/data-plane/"],
				without,
			},
			promises: {
				projects: ["promises", "data-plane"],
				folders: ["test/promises/", "test/faults/data-plane/"],
				without,
			},
		},
		{ alone: { projects: ["alone"] } },
	],
	e2e: [{ chart: { projects: ["chart"] } }, { e2e: { projects: ["e2e"] } }],
};
