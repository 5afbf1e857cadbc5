import { expect, test } from "vitest";
import type {
	Operation,
	OperationStatus,
	Pipeline,
	Run,
} from "../../crds/generated/types.ts";
import { newRun } from "../../crds/run.ts";
import { erasurePlaces } from "../../packages/contracts/archive.ts";
import {
	answeredWith,
	operationOf,
	stateOf,
	statusOf,
	types,
} from "../../test/support/examples/operation-examples.ts";
import { decide } from "./decide.ts";
import { type ErasedPipeline, tablesOf } from "./erase.ts";
import { changesEvents, operationBefore } from "./state.ts";
import { workOf } from "./work.ts";

const now = Date.parse("2026-03-31T12:00:00Z");
const time = "2026-03-31T11:00:00.000Z";
const later = "2026-03-31T11:00:01.000Z";
const places = Object.fromEntries(
	erasurePlaces.map((place, at) => [place, at]),
) as Record<(typeof erasurePlaces)[number], number>;
const listed = erasurePlaces.map((place, count) => ({ place, count }));

function eraseOf(status?: OperationStatus, name = "erase"): Operation {
	const operation = operationOf(
		status,
		{
			type: "Erase",
			filter: { eventIDs: ["a"] },
			erase: { mode: "RemoveRow", confirm: "orders" },
		},
		name,
	);
	delete operation.spec.plan;
	return operation;
}

const erased = (more: object = {}) => ({
	phase: "Running",
	sourceKey: "5".repeat(32),
	erase: { time, places: listed, tables: [], unreached: [] },
	...more,
});

function state(operation: Operation, pipelines: ErasedPipeline[] = []) {
	const work = workOf(operation, undefined, () => undefined, "2026-03-01");
	return stateOf({ operation, work, pipelines });
}

function table(
	name: string,
	snapshotTime?: string,
	run?: Run["status"],
	runs = run ? 1 : 0,
): ErasedPipeline {
	const status = snapshotTime && { lastSuccess: { snapshotTime } };
	return {
		pipeline: { metadata: { name }, status } as unknown as Pipeline,
		warehouse: "BigQuery",
		run: run && { ...newRun(name, { name: `${name}-run` }), status: run },
		runs,
	};
}

test("archive is asked to erase, and its counts stand in the status, which says what nobody reaches", () => {
	const operation = eraseOf();
	const question = {
		operation: operation.metadata.uid,
		account: "shop",
		sourceKey: "5".repeat(32),
		erasure: { mode: "RemoveRow", eventIDs: ["a"] },
	};
	const first = state(operation, [table("all")]);
	expect(decide(first, now).at(-1)).toEqual({
		type: "askErase",
		shard: 3,
		question,
	});
	const actions = decide(
		answeredWith(first, { ok: true, places, time }, now),
		now,
	);
	expect(statusOf(actions)).toMatchObject({
		phase: "Running",
		erase: {
			time,
			places: listed,
			tables: [{ pipeline: "all", phase: "Pending" }],
			unreached: expect.arrayContaining([
				expect.stringContaining("time travel"),
				expect.stringContaining("Exports"),
			]),
		},
	});
	// Never data.
	expect(JSON.stringify(statusOf(actions))).not.toContain("eventIDs");
});

test("each table gets a Run of its own, and is pending until a Run of a later snapshot has succeeded", () => {
	const pipelines = [table("new", time), table("done", later)];
	const actions = decide(state(eraseOf(erased()), pipelines), now);
	expect(types(actions)).toEqual(["writeStatus", "requeueAfter", "createRun"]);
	expect(actions.at(-1)).toMatchObject({
		type: "createRun",
		name: "new-euid-eras0",
		pipeline: { metadata: { name: "new" } },
	});
	expect(statusOf(actions)).toMatchObject({
		conditions: [{ reason: "TablesPending", status: "False" }],
		erase: {
			tables: [
				{ pipeline: "new", phase: "Pending" },
				{ pipeline: "done", phase: "Done" },
			],
		},
	});
});

test.each<[string, Run["status"], number, number | undefined]>([
	["runs", { phase: "Running" }, 1, undefined],
	["has just failed", failedAt(now - 60_000), 1, undefined],
	["failed a while ago", failedAt(now - 700_000), 1, 1],
	["failed for the tenth time", failedAt(now - 700_000), 10, undefined],
])(
	"a Run that %s is followed by another as it should",
	(_, run, runs, next) => {
		const pipelines = [table("one", time, run, runs)];
		const actions = decide(state(eraseOf(erased()), pipelines), now);
		const names = actions.flatMap((action) =>
			action.type === "createRun" ? [action.name] : [],
		);
		expect(names).toEqual(next === undefined ? [] : [`one-euid-eras${next}`]);
	},
);

function failedAt(ms: number): Run["status"] {
	return { phase: "Failed", completionTime: new Date(ms).toISOString() };
}

test("once all tables are done archive forgets which events they were, and then the Operation has succeeded", () => {
	const done = state(eraseOf(erased()), [table("one", later)]);
	const asked = decide(done, now);
	expect(asked.at(-1)).toMatchObject({
		type: "askErase",
		question: { isLoaded: true },
	});
	const actions = decide(
		answeredWith(done, { ok: true, places, time }, now),
		now,
	);
	expect(statusOf(actions)).toMatchObject({
		phase: "Succeeded",
		summary: "5 rows erased in the bucket and 0 more in tables, 1 table done",
	});
});

test.each<[string, number | undefined, number | undefined, string, boolean]>([
	[
		"nothing",
		undefined,
		undefined,
		"Nothing was found: no event in the bucket, and no row in 1 table",
		true,
	],
	[
		"rows by its own Run",
		3,
		undefined,
		"0 rows erased in the bucket and 3 more in tables, 1 table done",
		false,
	],
	[
		"rows by a Run of before",
		undefined,
		2,
		"0 rows erased in the bucket and 2 more in tables, 1 table done",
		false,
	],
])(
	"an Erase that has found %s says so",
	(_, now_, before, summary, isNothing) => {
		const one = table("one", later, {
			phase: "Succeeded",
			...(now_ !== undefined && { erasedRows: now_ }),
		});
		const none = erased();
		const operation = eraseOf({
			...none,
			erase: {
				...none.erase!,
				// What goes whatever is meant isn't found.
				places: none.erase!.places.map(({ place }) => ({
					place,
					count: place === "Uploads" ? 7 : 0,
				})),
				tables: [
					{ pipeline: "one", phase: "Done", ...(before && { rows: before }) },
				],
			},
		});
		const done = state(operation, [one]);
		const status = statusOf(
			decide(answeredWith(done, { ok: true, places, time }, now), now),
		);
		expect(status).toMatchObject({ phase: "Succeeded", summary });
		expect(status?.erase?.isNothing ?? false).toBe(isNothing);
	},
);

test("what the latest Run says of rows that are left stands beside a table that is done", () => {
	const said = (message: string) => {
		const done = table("one", later);
		const conditions = [{ type: "Complete", message }];
		done.succeeded = {
			...newRun("one", { name: "one-daily" }),
			status: { phase: "Succeeded", conditions },
		} as unknown as Run;
		const { tables } = tablesOf([done], eraseOf(erased()), time, now);
		return tables;
	};
	const left = "Loaded 5 rows. 2 rows of table t can't be erased.";
	expect(said(`${left}${"!".repeat(500)}`)).toEqual([
		{ pipeline: "one", phase: "Done", message: expect.stringContaining(left) },
	]);
	expect(said("Loaded 5 rows.")).toEqual([{ pipeline: "one", phase: "Done" }]);
	for (const { message = "" } of said(`${left}${"!".repeat(500)}`))
		expect(message.length).toBeLessThanOrEqual(500);
});

test("a dry run counts in the bucket and by Runs of its own that load nothing, and archive forgets nothing", () => {
	const operation = eraseOf();
	operation.spec.erase!.dryRun = true;
	const asked = decide(state(operation), now).at(-1);
	expect(asked).toMatchObject({ question: { erasure: { mode: "Count" } } });
	operation.status = erased();
	// Whichever Run has loaded since.
	const waiting = state(operation, [table("one", later)]);
	expect(decide(waiting, now).at(-1)).toMatchObject({ type: "createRun" });
	const message = "3 rows would be erased or blanked, 3 in table one.";
	const counted = table("one", time, {
		phase: "Succeeded",
		countedRows: 3,
		conditions: [{ type: "Complete", message }] as never,
	});
	const actions = decide(state(operation, [counted]), now);
	expect(types(actions)).not.toContain("askErase");
	expect(statusOf(actions)).toMatchObject({
		phase: "Succeeded",
		summary: "5 rows in the bucket and 3 in 1 table would be erased",
		erase: { tables: [{ pipeline: "one", phase: "Done", rows: 3, message }] },
	});
});

test("a cancelled Erase starts no Run", () => {
	const operation = eraseOf(erased());
	operation.spec.cancel = true;
	const actions = decide(state(operation, [table("one", time)]), now);
	expect(types(actions)).not.toContain("createRun");
	expect(statusOf(actions)).toMatchObject({ phase: "Cancelled" });
});

test("while archive erases nothing else copies events of the Source, and it waits for what does", () => {
	const age = (operation: Operation, hour: number) => {
		operation.metadata.creationTimestamp = `2026-03-31T0${hour}:00:00Z`;
		return operation;
	};
	const release = age(operationOf(undefined, { type: "Release" }, "r"), 1);
	const erase = age(eraseOf(), 2);
	const add = age(operationOf(undefined, { type: "Import" }, "i"), 3);
	const late = age(operationOf(undefined, { type: "Release" }, "s"), 4);
	const all = [release, erase, add, late];
	const before = () =>
		all.map((each) => operationBefore(each, all)?.metadata.name);
	expect(before()).toEqual([undefined, "r", "erase", "erase"]);
	erase.status = erased();
	expect(changesEvents(erase)).toBe(false);
	expect(before().slice(2)).toEqual([undefined, undefined]);
	const waiting = decide({ ...state(erase), before: release }, now);
	expect(types(waiting)).toContain("askErase");
	const own = decide({ ...state(eraseOf()), before: release }, now);
	expect(statusOf(own).conditions).toMatchObject([
		{ reason: "EraseBefore", message: expect.stringContaining("Release r") },
	]);
});
