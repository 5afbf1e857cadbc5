import type { LaneOptions } from "./lane.ts";

/** Lanes that run side by side, a few at a time, in this order. */
export type Stage = Record<
	string,
	Pick<LaneOptions, "projects" | "folders" | "without">
>;

/** Beginnings of each lane's files. Where several fit, the longest counts. What takes longest begins first. */
const servers: Record<string, { projects: string[]; folders: string[] }> = {
	// Two files that take as long as other lanes.
	warehouses: {
		projects: ["data-plane"],
		folders: ["test/data-plane/warehouse"],
	},
	archive: {
		projects: ["data-plane"],
		folders: ["test/data-plane/"],
	},
	views: {
		projects: ["data-plane"],
		folders: [
			"test/data-plane/erased-columns",
			"test/data-plane/evolving",
			"test/data-plane/latest-view",
		],
	},
	faults: {
		projects: ["data-plane", "chaos"],
		folders: ["test/faults/chaos/", "test/faults/data-plane/"],
	},
	console: {
		projects: ["console"],
		folders: ["test/console/"],
	},
	tables: {
		projects: ["data-plane"],
		folders: [
			"test/data-plane/amazon-sns",
			"test/data-plane/body-values",
			"test/data-plane/clickhouse",
			"test/data-plane/destination-busy",
			"test/data-plane/image",
			"test/data-plane/postgres",
			"test/data-plane/refused-requests",
			"test/data-plane/secrets",
			"test/data-plane/sender-examples",
			"test/data-plane/table",
			"test/data-plane/tracking-plans",
		],
	},
	promises: {
		projects: ["promises"],
		folders: ["test/promises/"],
	},
	"receive-load": {
		projects: ["data-plane"],
		folders: [
			"test/data-plane/bigquery",
			"test/data-plane/idempotency",
			"test/data-plane/load",
			"test/data-plane/notifications",
			"test/data-plane/receive",
			"test/data-plane/tenancy/",
			"test/faults/data-plane/idempotency-crashes",
		],
	},
	control: {
		projects: ["control-plane"],
		folders: ["test/control-plane/"],
	},
	// With a control plane of its own, which costs less than what the lane would wait longer without.
	outages: {
		projects: ["control-plane"],
		folders: [
			"test/control-plane/operator-alerts",
			"test/control-plane/process-node",
			"test/control-plane/run-endings",
			"test/control-plane/source-deletion",
			"test/faults/control-plane/",
		],
	},
	// They wait for backoffs most of the time.
	refusals: {
		projects: ["control-plane"],
		folders: [
			"test/control-plane/refused-writes",
			"test/control-plane/tenancy/missing-bindings",
		],
	},
};

/** Globs of the files below one of these beginnings that another lane has. */
function ofOthers(folders: string[]): string[] {
	return Object.values(servers)
		.flatMap((lane) => lane.folders)
		.filter((other) =>
			folders.some((own) => other !== own && other.startsWith(own)),
		)
		.map((other) => (other.endsWith("/") ? `${other}**` : `${other}*`));
}

/**
 * `make test` and `make e2e`: lanes of a stage run side by side, each as a vitest process of its own; stages run one after the
 * other. A lane by itself waits much of its time, so side by side they keep all cores busy, and what only computes fills the gaps.
 * What measures time has the machine to itself.
 */
export const suites: Record<string, Stage[]> = {
	test: [
		{ unit: { projects: ["unit"] } },
		{
			...Object.fromEntries(
				Object.entries(servers).map(([name, { projects, folders }]) => [
					name,
					{ projects, folders, without: ofOthers(folders) },
				]),
			),
			slow: { projects: ["slow"] },
		},
		{ alone: { projects: ["alone"] } },
	],
	// The node's lane waits most of its time: for Pods that end, and for kubelet.
	e2e: [
		{
			chart: { projects: ["chart"] },
			image: { projects: ["image"] },
			e2e: { projects: ["e2e"] },
		},
	],
};
