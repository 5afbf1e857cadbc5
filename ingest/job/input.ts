import type { CheckInput, LoadInput } from "../../packages/contracts/job.ts";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";
import { knownTypes, warehouses } from "../../packages/warehouses/registry.ts";

/** Parses a Job's `input.json` as a {@link LoadInput}. Throws {@link JobFailure} InputInvalid. */
export function parseLoadInput(text: string): LoadInput {
	const input = parse(text) as LoadInput;
	require(typeof input.run?.uid === "string", "run.uid");
	require(typeof input.table?.name === "string" &&
		input.table.name !== "", "table.name");
	require(Array.isArray(input.table.columns) &&
		input.table.columns.length > 0, "table.columns");
	require(typeof input.manifestURL === "string" &&
		URL.canParse(input.manifestURL), "manifestURL");
	require(input.strategy === "Incremental" ||
		input.strategy === "FullReload", "strategy");
	const hasDate = input.table.columns.some(({ from }) => from === "Date");
	require(hasDate ===
		(input.strategy ===
			"Incremental"), "strategy: Incremental needs the Date column, FullReload excludes it");
	return input;
}

/** Parses a Job's `input.json` as a {@link CheckInput}. Throws {@link JobFailure} InputInvalid. */
export function parseCheckInput(text: string): CheckInput {
	return parse(text) as CheckInput;
}

function parse(text: string): unknown {
	let input: unknown;
	try {
		input = JSON.parse(text);
	} catch {
		throw new JobFailure("InputInvalid", "The Job's input is not JSON");
	}
	const { version, destination } = (input ?? {}) as Partial<LoadInput>;
	if (version !== 1)
		throw new JobFailure(
			"InputInvalid",
			`The Job's input has version ${version}, but this image reads version 1`,
		);
	requireDestination(destination);
	return input;
}

function requireDestination(destination?: Record<string, unknown>): void {
	const type = String(destination?.type);
	const definition = warehouses.get(type);
	if (!definition)
		throw new JobFailure(
			"InputInvalid",
			`The Job's input names a destination of type ${type}, but this image knows only ${knownTypes()}`,
		);
	for (const field of definition.inputTexts)
		require(typeof destination?.[field] === "string", `destination.${field}`);
}

function require(holds: boolean, field: string): void {
	if (!holds)
		throw new JobFailure(
			"InputInvalid",
			`The Job's input has no valid ${field}`,
		);
}
