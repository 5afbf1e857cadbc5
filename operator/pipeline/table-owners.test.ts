import { expect, test } from "vitest";
import type { Destination, Pipeline } from "../../crds/generated/types.ts";
import { createLog } from "../../packages/service/log.ts";
import { listedClient } from "../../test/support/doubles/kubernetes/listed-client.ts";
import {
	bigQueryOf,
	destinationOf,
	pipelineOf,
} from "../../test/support/examples/resource-examples.ts";
import { createInformers } from "../reconcile/informers.ts";
import { TableOwners } from "./table-owners.ts";

const log = createLog("test");
log.level = "silent";
const older = "2026-02-01T00:00:00Z";
const younger = "2026-03-02T00:00:00Z";

/** A Pipeline that loads into a table by a Destination of its own. */
interface Contender {
	createdAt: string;
	table?: string;
	destination: Destination;
}

function contenderOf({
	createdAt,
	table = "LOAD_ORDERS",
	destination,
}: Contender) {
	const spec = {
		table: { ...pipelineOf().spec.table, name: table },
		destinationRef: { name: destination.metadata.name },
	};
	return pipelineOf(spec, { name: "contender", createdAt });
}

/** Who has the table of a Pipeline beside a contender. */
async function ownerBeside(
	contender: Pipeline,
	...destinations: Destination[]
): Promise<string | undefined> {
	const { owner } = await found(pipelineOf(), contender, destinations);
	return owner?.pipeline.metadata.name;
}

async function found(
	own: Pipeline,
	contender: Pipeline,
	destinations: Destination[],
) {
	const objects = { pipelines: [own, contender], destinations };
	const informers = createInformers(listedClient(objects), {
		namespaces: undefined,
		log,
	});
	const stop = new AbortController();
	const { pipelines, destinations: known } = informers;
	const running = [pipelines, known].map((each) => each.run(stop.signal));
	await Promise.all([pipelines.synced, known.synced]);
	stop.abort();
	await Promise.all(running);
	const owners = new TableOwners(informers);
	const owner = owners.of(own);
	// What was read is remembered.
	expect(owners.of(own)).toEqual(owner);
	return { owner, owners };
}

const own = destinationOf();
const ownName = pipelineOf().metadata.name;

test.each<[string, Contender, string]>([
	[
		"an older Pipeline has the table, in any case of letters",
		{ createdAt: older, destination: own },
		"contender",
	],
	[
		"another Destination with the same file is the same warehouse",
		{ createdAt: older, destination: destinationOf("alias") },
		"contender",
	],
	[
		"a younger Pipeline does not take the table",
		{ createdAt: younger, destination: own },
		ownName,
	],
	[
		"another table is no conflict",
		{ createdAt: older, table: "t", destination: own },
		ownName,
	],
	[
		"another file is no conflict",
		{ createdAt: older, destination: destinationOf("b", "other.duckdb") },
		ownName,
	],
])("%s", async (_, contender, owner) => {
	const found = await ownerBeside(
		contenderOf(contender),
		own,
		contender.destination,
	);
	expect(found).toBe(owner);
});

test.each([
	["load_orders", "contender"],
	["LOAD_ORDERS", ownName],
])("in BigQuery, table names differ by case: %s", async (table, owner) => {
	const lake = { ...bigQueryOf(), metadata: own.metadata };
	const alias = bigQueryOf("alias");
	const contender = contenderOf({
		createdAt: older,
		table,
		destination: alias,
	});
	expect(await ownerBeside(contender, lake, alias)).toBe(owner);
});

const dataset = { ...bigQueryOf(), metadata: own.metadata };

test.each([
	["rejected", { rejectedValues: true }, own],
	["latest", { latestBy: ["event_id"] }, own],
	["rejected", { rejectedValues: true }, dataset],
	["latest", { latestBy: ["event_id"] }, dataset],
])(
	"a Pipeline has the table or view of its %s values, too",
	async (end, option, own) => {
		const rejecting = pipelineOf({
			table: { ...pipelineOf().spec.table, ...option },
		});
		const of = async (pipeline: Pipeline, other: Pipeline) => {
			const { owner } = await found(pipeline, other, [own]);
			return [owner?.pipeline.metadata.name, owner?.table];
		};
		const table = `load_orders_${end}`;
		const old = contenderOf({ createdAt: older, table, destination: own });
		expect(await of(rejecting, old)).toEqual(["contender", table]);
		expect(await of(pipelineOf(), old)).toEqual([ownName, "load_orders"]);
		const young = contenderOf({ createdAt: younger, table, destination: own });
		expect(await of(young, rejecting)).toEqual([ownName, table]);
		expect(await of(rejecting, young)).toEqual([ownName, table]);
	},
);

test("a Pipeline has the tables of its event types, and that of the others", async () => {
	const own = destinationOf();
	const typed = pipelineOf(
		{ table: { ...pipelineOf().spec.table, perEventType: true } },
		{
			status: {
				eventTypeTables: {
					table: "load_orders",
					types: [{ type: "paid", table: "load_orders_paid" }],
				},
			},
		},
	);
	for (const table of ["load_orders_paid", "load_orders_other"]) {
		const of = async (pipeline: Pipeline, other: Pipeline) => {
			const { owner } = await found(pipeline, other, [own]);
			return [owner?.pipeline.metadata.name, owner?.table];
		};
		const old = contenderOf({ createdAt: older, table, destination: own });
		expect(await of(typed, old)).toEqual(["contender", table]);
		const young = contenderOf({ createdAt: younger, table, destination: own });
		expect(await of(young, typed)).toEqual([ownName, table]);
		// A name that the Pipeline's tables had before is nobody's.
		typed.spec.table.name = "renamed";
		expect(await of(young, typed)).toEqual(["contender", table]);
		delete typed.spec.table.name;
	}
});

test.each([
	["in the same warehouse", destinationOf("alias"), true],
	["in another", destinationOf("b", "other.duckdb"), false],
])(
	"a table of another Pipeline %s: its name is taken is %s",
	async (_, destination, isTaken) => {
		const contender = contenderOf({ createdAt: younger, destination });
		const { owners } = await found(pipelineOf(), contender, [own, destination]);
		expect(owners.isTaken(pipelineOf(), "load_orders")).toBe(isTaken);
		expect(owners.isTaken(contender, "LOAD_orders")).toBe(isTaken);
		expect(owners.isTaken(pipelineOf(), "free")).toBe(false);
	},
);

test("what is being deleted has no table, and without a Destination there is none to have", async () => {
	const contender = contenderOf({ createdAt: older, destination: own });
	contender.metadata.deletionTimestamp = "2026-03-31T12:00:00Z";
	expect(await ownerBeside(contender, own)).toBe(ownName);
	expect(await ownerBeside(contender)).toBeUndefined();
});
