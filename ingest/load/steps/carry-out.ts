import { rename } from "node:fs/promises";
import { passingParquet } from "../../../packages/duckdb/memory.ts";
import { parquetRows, quoteText } from "../../../packages/duckdb/quoting.ts";
import type { Session } from "../../../packages/duckdb/session.ts";
import type {
	DayObject,
	DayStep,
	LoadDay,
} from "../../../packages/warehouses/load/load-day.ts";

/**
 * A day's objects as its steps leave them. Their files are on disk, and one that a step changes is written anew, once for all steps. An
 * object that is left without rows stays in the list, so that records name it.
 */
export async function carryOutSteps(
	{ objects, steps }: Pick<LoadDay, "objects" | "steps">,
	session: Session,
): Promise<DayObject[]> {
	const acting = steps.filter(({ keep, replace }) => keep ?? replace);
	if (objects.length === 0 || acting.length === 0) return objects;
	for (const { define } of acting) define?.(session);
	const files = objects.map(({ file }) => file);
	// Without a WHERE: DuckDB would call a step's functions once more for it.
	const counts = await session.rows<{
		file: string;
		step: number | null;
		isChanged: boolean;
		rows: bigint;
	}>(
		`SELECT filename AS file, left_out_by AS step, is_changed AS "isChanged", count(*) AS rows FROM ${rowsBefore(acting, files)} GROUP BY ALL`,
	);
	const changes = counts.filter(
		({ step, isChanged }) => step !== null || isChanged,
	);
	for (const [index, { requireLeftOut }] of acting.entries())
		requireLeftOut?.(rowsLeftOut(changes.filter(({ step }) => step === index)));
	const left: DayObject[] = [];
	for (const object of objects) {
		const found = changes.filter(({ file }) => file === object.file);
		if (found.length > 0) await rewrite(object.file, acting, session);
		const rows = object.rows - rowsLeftOut(found);
		left.push(rows === object.rows ? object : sized(object, rows));
	}
	return left;
}

function rowsLeftOut(
	changes: readonly { step: number | null; rows: bigint }[],
): number {
	return changes.reduce(
		(sum, { step, rows }) => (step === null ? sum : sum + Number(rows)),
		0,
	);
}

function sized(object: DayObject, rows: number): DayObject {
	const bytes = (object.bodyBytes ?? 0) * (rows / object.rows);
	return { ...object, rows, bodyBytes: Math.ceil(bytes) };
}

/** All rows, each with the number of the first step that leaves it out, and whether a step changes it. */
function rowsBefore(steps: readonly DayStep[], files: string[]): string {
	return steps.reduce(
		(rows, { keep, replace }, index) => {
			const columns = [
				...(keep
					? [
							`CASE WHEN left_out_by IS NOT NULL THEN left_out_by WHEN (${keep}) IS NOT TRUE THEN ${index} END AS left_out_by`,
						]
					: []),
				...(replace
					? [
							`is_changed OR (left_out_by IS NULL AND ${replace.where}) AS is_changed`,
							...replacements(replace),
						]
					: []),
			];
			return `(SELECT * REPLACE (${columns.join(", ")}) FROM ${rows})`;
		},
		`(SELECT *, NULL::INTEGER AS left_out_by, false AS is_changed FROM ${parquetRows(files, { filename: true })})`,
	);
}

async function rewrite(
	file: string,
	steps: readonly DayStep[],
	session: Session,
): Promise<void> {
	const rows = steps.reduce(
		(rows, { keep, replace }) => {
			const columns = replace
				? `* REPLACE (${replacements(replace).join(", ")})`
				: "*";
			return `(SELECT ${columns} FROM ${rows}${keep ? ` WHERE ${keep}` : ""})`;
		},
		parquetRows([file]),
	);
	const made = `${file}.made`;
	await session.run(
		`COPY (SELECT * FROM ${rows}) TO ${quoteText(made)} (${passingParquet})`,
	);
	await rename(made, file);
}

function replacements({
	where,
	by,
}: NonNullable<DayStep["replace"]>): string[] {
	return Object.entries(by).map(
		([column, value]) =>
			`CASE WHEN ${where} THEN ${value} ELSE ${column} END AS ${column}`,
	);
}
