import type { LaneOptions } from "./lane.ts";

/** Lanes that run side by side. */
export type Stage = Record<
	string,
	Pick<LaneOptions, "projects" | "folders" | "without">
>;

/** Beginnings of files that another lane has, so that all lanes end together. */
const moved = {
	outages: [
		"test/control-plane/kube-informer",
		"test/data-plane/load-semantics",
		"test/data-plane/receive-commit",
		"test/faults/data-plane/archive",
		"test/faults/data-plane/compaction",
		"test/faults/data-plane/power-loss",
		"test/faults/data-plane/release-crashes",
	],
	control: [
		"test/faults/data-plane/bigquery-crashes",
		"test/faults/data-plane/s3-faults",
	],
	data: ["test/faults/data-plane/idempotency-crashes"],
};
const filesOf = (beginnings: string[]) =>
	beginnings.map((beginning) => `${beginning}*`);
const toOutages = filesOf(moved.outages);
const toControl = filesOf(moved.control);
const toData = filesOf(moved.data);

/**
 * `make test` and `make e2e`: lanes of a stage run side by side, each as a vitest process of its own; stages run one after the
 * other. A lane waits about half of its time, so four keep two cores busy. What measures time has the machine to itself.
 */
export const suites: Record<string, Stage[]> = {
	test: [
		{ check: { projects: ["unit", "slow"] } },
		{
			control: {
				projects: ["control-plane", "data-plane"],
				folders: ["test/control-plane/", ...moved.control],
				without: toOutages,
			},
			// With a control plane of its own, which costs less than what the lane would wait longer without.
			outages: {
				projects: ["control-plane", "data-plane", "chaos"],
				folders: [
					"test/faults/control-plane/",
					"test/faults/chaos/",
					...moved.outages,
				],
			},
			data: {
				projects: ["data-plane"],
				folders: ["test/data-plane/", ...moved.data],
				without: [...toOutages, ...toControl],
			},
			promises: {
				projects: ["promises", "data-plane"],
				folders: ["test/promises/", "test/faults/data-plane/"],
				without: [...toOutages, ...toControl, ...toData],
			},
		},
		{ alone: { projects: ["alone"] } },
	],
	e2e: [{ chart: { projects: ["chart"] } }, { e2e: { projects: ["e2e"] } }],
};
