import { expect, test } from "vitest";
import type { Pipeline, Run } from "../../crds/generated/types.ts";
import type { LoadInput } from "../../packages/contracts/job.ts";
import {
	bigQueryOf,
	pipelineOf,
	runOf,
	sourceOf,
} from "../../test/support/examples/resource-examples.ts";
import { resolveTarget } from "../pipeline/target.ts";
import { runJob } from "./job.ts";

function inputOf(
	change: (pipeline: Pipeline) => void,
	spec: Partial<Run["spec"]> = {},
): LoadInput {
	const pipeline = pipelineOf();
	change(pipeline);
	const kmsKeyName = "projects/p/locations/eu/keyRings/r/cryptoKeys/k";
	const resolved = resolveTarget({
		pipeline,
		source: sourceOf(),
		destination: bigQueryOf("lake", { kmsKeyName }),
		credentials: [],
		trackingPlan: undefined,
		owner: undefined,
		podPolicy: { labels: [], annotations: [], priorityClasses: [] },
		localWarehouse: undefined,
		clusterDomain: "cluster.local",
		clusterNetworks: [],
	});
	if ("problem" in resolved) throw new Error(resolved.problem.message);
	const run = runOf("r");
	Object.assign(run.spec, spec);
	const { secret } = runJob(run, pipeline, resolved.target, {
		manifestURL: "https://s3/manifest",
		extent: "Whole",
		image: "tidemill",
		activeDeadlineSeconds: 60,
	});
	return JSON.parse(
		Buffer.from(secret.data!["input.json"]!, "base64").toString(),
	);
}

test("a Run's Job gets the options of its table, those but the description for the one of quarantine, and those that name no column for the one of rejected values", () => {
	const stored = { labels: { team: "shop" }, clusterBy: ["event_id"] };
	const { destination, table, ...others } = inputOf(({ spec }) => {
		const bigQuery = { description: "Orders", ...stored };
		const beside = { quarantine: true, rejectedValues: true };
		spec.table = { ...spec.table, ...beside, bigQuery };
	});
	expect(destination).toMatchObject({
		kmsKeyName: "projects/p/locations/eu/keyRings/r/cryptoKeys/k",
	});
	expect(table.options).toEqual({ description: "Orders", ...stored });
	expect(others.quarantineTable?.options).toEqual(stored);
	expect(others.rejectedTable).toMatchObject({
		name: "load_orders_rejected",
		options: { labels: stored.labels },
	});
	expect(others.rejectedTable?.options).not.toHaveProperty("clusterBy");
});

test("a Run's Job hears of the view that its table shall have, or that it shall have none", () => {
	const latestOf = (option: object) =>
		inputOf(({ spec }) => Object.assign(spec.table, option)).table.latest;
	const name = "load_orders_latest";
	expect(latestOf({ latestBy: ["event_id"] })).toEqual({
		name,
		by: ["event_id"],
	});
	expect(latestOf({})).toEqual({ name, by: [] });
});

test("a Run's Job may adopt its table while the Pipeline says so and hasn't used it up", () => {
	expect(inputOf(() => undefined)).not.toHaveProperty("adopt");
	const adopting = inputOf(({ spec }) => (spec.table.adopt = true));
	expect(adopting.adopt).toBe(true);
	const used = inputOf((pipeline) => {
		pipeline.spec.table.adopt = true;
		const table = "load_orders";
		const destination = `BigQuery:my-project.events.${table}`;
		pipeline.status = { adoptedTable: { destination, table } };
	});
	expect(used).not.toHaveProperty("adopt");
});

test("only a Run that says so may let its table lose rows", () => {
	expect(inputOf(() => undefined)).not.toHaveProperty("acceptLoss");
	const acceptLoss = ["2026-03-01"];
	expect(inputOf(() => undefined, { acceptLoss })).toMatchObject({
		acceptLoss,
	});
});

test("a Run's Job gets the Pipeline's filter", () => {
	expect(inputOf(() => undefined)).not.toHaveProperty("filter");
	const match = { bodyPointer: "/status", equals: "paid" };
	const eventType = { header: "x-event" };
	const filtered = inputOf(({ spec }) => {
		spec.filter = { types: ["push", "fork"], eventType, match };
	});
	expect(filtered.filter).toEqual({
		types: { oneOf: ["fork", "push"], place: eventType },
		match,
	});
});

test("a Run's Job gets the tables of the types that are known, and hears how many more may get one", () => {
	const { eventTypes } = inputOf((pipeline) => {
		const eventType = { bodyPointer: "/type" };
		pipeline.spec.table = {
			...pipeline.spec.table,
			...{ perEventType: true, eventType, maxEventTypes: 3 },
		};
		const types = [{ type: "a/b", table: "load_orders_a_b" }];
		pipeline.status = { eventTypeTables: { table: "load_orders", types } };
	});
	expect(eventTypes).toEqual({
		place: { bodyPointer: "/type" },
		tables: [{ type: "a/b", table: "load_orders_a_b" }],
		other: "load_orders_other",
		free: 2,
	});
});
