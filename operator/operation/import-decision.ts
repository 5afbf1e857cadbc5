import type {
	Operation,
	OperationStatusImport,
} from "../../crds/generated/types.ts";
import { storedUnder } from "../source/routes/keys.ts";
import type { OperationState } from "./state.ts";
import {
	ask,
	countText,
	maxDates,
	transition,
	type WorkOnOperation,
} from "./transition.ts";

/** The Job has left its parts, which the status says: archive adds them, each once, however often it is asked. */
export function finishImport(
	state: OperationState,
	{ parts = 0, ...left }: OperationStatusImport,
	now: number,
): WorkOnOperation[] {
	const { operation, source } = state;
	const { metadata, spec, status } = operation;
	if (parts === 0)
		return succeedImport(operation, { ...left, parts, dates: [] }, now);
	const stored = source && storedUnder(source);
	if (!stored)
		return transition.progress(
			operation,
			"SourceNotFound",
			`There is no Source "${spec.sourceRef.name}" with a source key in this namespace.`,
			{ phase: "Running" },
			now,
		);
	return ask<"askImport">(
		state,
		{
			type: "askImport",
			shard: stored.shard,
			question: {
				operation: metadata.uid!,
				account: metadata.namespace!,
				sourceKey: status?.sourceKey ?? stored.sourceKey,
				parts,
			},
		},
		{
			reason: "Working",
			message: "Archive is adding the events",
			facts: { phase: "Running", import: { ...left, parts } },
			unavailable: "ImportUnavailable",
			refused: "ImportRefused",
			goOn: ({ dates }) =>
				succeedImport(
					operation,
					{ ...left, parts, dates: dates.slice(-maxDates) },
					now,
				),
		},
		now,
	);
}

function succeedImport(
	operation: Operation,
	done: OperationStatusImport,
	now: number,
): WorkOnOperation[] {
	const { events, duplicates, invalidRows, otherTimes = 0 } = done;
	const summary = [
		`${countText(events, "event")} added`,
		...(duplicates > 0 ? [`${duplicates} stored already`] : []),
		...(invalidRows > 0 ? [`${invalidRows} invalid rows left out`] : []),
		...(otherTimes > 0
			? [
					`${countText(otherTimes, "row")} on ${operation.spec.import?.date}, since a time that is a number isn't read`,
				]
			: []),
	].join(", ");
	return transition.succeed(operation, summary, { import: done, summary }, now);
}
