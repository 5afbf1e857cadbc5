import type {
	Operation,
	OperationStatusErase,
} from "../../crds/generated/types.ts";
import { rfc3339 } from "../../packages/kube/resource.ts";
import {
	type StoredUnder,
	shardsIn,
	storedUnder,
} from "../source/routes/keys.ts";
import {
	erasedRows,
	erasureOf,
	placesOf,
	tablesOf,
	unreachedBy,
} from "./erase.ts";
import type { OperationState } from "./state.ts";
import {
	ask,
	countText,
	transition,
	type WorkOnOperation,
} from "./transition.ts";

/** Archive erases the events wherever it has them, each once, however often it is asked. */
export function erase(
	state: OperationState,
	stored: StoredUnder,
	now: number,
): WorkOnOperation[] {
	const { operation, pipelines } = state;
	return ask<"askErase">(
		state,
		erasureQuestion(operation, stored),
		{
			...erasing(operation),
			facts: {
				phase: "Running",
				startTime: operation.status?.startTime ?? rfc3339(now),
				sourceKey: stored.sourceKey,
			},
			goOn(answer) {
				const done = placesOf(answer);
				const { tables } = tablesOf(pipelines, operation, done.time, now);
				const erase = { ...done, tables, unreached: unreachedBy(pipelines) };
				return transition.progress(
					operation,
					"TablesPending",
					bucketWords(operation),
					{ phase: "Running", erase },
					now,
				);
			},
		},
		now,
	);
}

function bucketWords({ spec }: Operation): string {
	return spec.erase?.dryRun
		? "Archive has counted the events."
		: "Archive has none of the events any more.";
}

function erasing({ spec }: Operation) {
	return {
		reason: "Working",
		message: spec.erase?.dryRun
			? "Archive is counting events"
			: "Archive is erasing events",
		unavailable: "EraseUnavailable",
		refused: "EraseRefused",
	} as const;
}

function erasureQuestion(
	operation: Operation,
	stored: StoredUnder,
	isLoaded = false,
) {
	return {
		type: "askErase",
		shard: stored.shard,
		question: {
			operation: operation.metadata.uid!,
			account: operation.metadata.namespace!,
			sourceKey: stored.sourceKey,
			...shardsIn(stored),
			erasure: {
				...erasureOf(operation),
				...(operation.spec.erase?.dryRun && { mode: "Count" as const }),
			},
			...(isLoaded && { isLoaded }),
		},
	} as const;
}

/** Archive has erased. The Operation ends once each table is done, and archive has forgotten which events they were. */
export function finishErase(
	state: OperationState,
	done: OperationStatusErase,
	now: number,
): WorkOnOperation[] {
	const { operation, source, pipelines } = state;
	const { dryRun } = operation.spec.erase!;
	const { tables } = tablesOf(pipelines, operation, done.time, now);
	const erase = { ...done, tables };
	const pending = tables.filter(({ phase }) => phase !== "Done").length;
	if (pending > 0)
		return [
			...transition.progress(
				operation,
				"TablesPending",
				`${bucketWords(operation)} Of ${countText(tables.length, "table")}, ${pending} may still have rows of them: status.erase.tables says which.`,
				{ phase: "Running", erase },
				now,
			),
			{ type: "requeueAfter", afterMs: tablesPollMs },
		];
	const { inBucket, inTables, isNothing } = erasedRows(erase);
	const all = countText(tables.length, "table");
	const summary = isNothing
		? `Nothing was found: no event in the bucket, and no row in ${all}`
		: dryRun
			? `${countText(inBucket, "row")} in the bucket and ${inTables} in ${all} would be erased`
			: `${countText(inBucket, "row")} erased in the bucket and ${inTables} more in tables, ${all} done`;
	const succeed = () =>
		transition.succeed(
			operation,
			summary,
			{ erase: { ...erase, ...(isNothing && { isNothing }) }, summary },
			now,
		);
	const stored = source && storedUnder(source);
	// A Source that is gone has no such record either.
	if (dryRun || !stored) return succeed();
	const { sourceKey = stored.sourceKey } = operation.status ?? {};
	return ask<"askErase">(
		state,
		erasureQuestion(operation, { ...stored, sourceKey }, true),
		{
			...erasing(operation),
			facts: { phase: "Running", erase },
			goOn: succeed,
		},
		now,
	);
}

/** A Pipeline's status may have changed, and a Run that failed is followed by another after some minutes. */
const tablesPollMs = 60_000;
