import type { Run } from "../../crds/generated/types.ts";
import { ageOf } from "../../kube/resource.ts";

/** Another Run of the namespace that hasn't ended. */
export interface Rival {
	run: Run;
	/** What it writes to, as a layout names it; undefined while it can't run. */
	warehouse: string | undefined;
}

/** A process that writes to a warehouse, or will: a Job that hasn't finished, or a Pod that isn't gone. */
export interface Writer {
	/** Name of its Run, which may be deleted by now. */
	run: string;
	/** As {@link file://./job.ts warehouseLabel} has it. */
	warehouseLabel: string;
}

/**
 * Why a Run must wait for others of its warehouse; undefined when it is its turn. One process at a time has a DuckDB
 * file (design §6), and the older Run goes first, so that two that look at the same moment come to the same answer.
 */
export function obstacle(
	run: Run,
	warehouse: { name: string; label: string },
	rivals: Rival[],
	writers: Writer[],
): string | undefined {
	const writer = writers.find(
		({ warehouseLabel }) => warehouseLabel === warehouse.label,
	);
	if (writer)
		return `The Pods of Run "${writer.run}" write to ${warehouse.name}.`;
	const first = rivals.find(
		(rival) => rival.warehouse === warehouse.name && goesFirst(rival.run, run),
	);
	return (
		first &&
		`Run "${first.run.metadata.name}" loads into ${warehouse.name} first.`
	);
}

function goesFirst(other: Run, run: Run): boolean {
	const isRunning = ({ status }: Run) => status?.phase === "Running";
	if (isRunning(other) !== isRunning(run)) return isRunning(other);
	return ageOf(other) < ageOf(run);
}
