import type { Session } from "../../../duckdb/session.ts";
import type { Logger } from "../../../service/log.ts";
import { JobFailure } from "../../load/failure.ts";
import { progressOf } from "../../load/progress.ts";
import { TableChanged } from "../../load/warehouse.ts";
import { type RecordChange, tidyRecord } from "./load-record.ts";
import type { LoadPlan, LoadStep } from "./plan.ts";
import { publish, stage } from "./staged-table.ts";
import { bodySample, rowCount, statements } from "./statements.ts";

/**
 * Plans and carries out a load in one transaction, so that the plan rests on the table that it changes. Commits only if the
 * table then has exactly the planned rows. Logs progress. Throws {@link JobFailure} ObjectMismatch if the rows
 * differ, and {@link TableChanged} if the table has events already that are to be added.
 * @param isStaged Whether the plan has a Stage, which comes before the transaction.
 * @returns what was recorded of the table, if anything.
 */
export async function carryOut(
	planned: () => Promise<LoadPlan>,
	session: Session,
	log: Logger,
	isStaged = false,
): Promise<RecordChange | undefined> {
	let recorded: RecordChange | undefined;
	const carryOutPart = async (isBefore: boolean) => {
		const { table, steps } = await planned();
		const staged = steps.findIndex((step) => step.do === "Stage") + 1;
		const part = isBefore ? steps.slice(0, staged) : steps.slice(staged);
		for (const step of part) {
			await carryOutStep(table, step, session, log);
			if (step.do !== "Record") continue;
			recorded = step.change;
			await tidyRecord(table, step.change, session);
		}
	};
	if (isStaged) await carryOutPart(true);
	await session.transaction(() => carryOutPart(false));
	return recorded;
}

async function carryOutStep(
	table: string,
	step: LoadStep,
	session: Session,
	log: Logger,
): Promise<void> {
	if (step.do === "CheckRows") await checkRows(table, step, session);
	else if (step.do === "CheckNew") await checkNew(table, step, session);
	else if (step.do === "Insert") await insert(table, step, session, log);
	else if (step.do === "Stage") await stage(table, step, session, log);
	else if (step.do === "Publish") await publish(table, step, session);
	else if (step.do !== "SkipDictionary" || (await doDiffer(step, session)))
		for (const sql of statements(table, step)) await session.run(sql);
}

async function insert(
	table: string,
	step: Extract<LoadStep, { do: "Insert" }>,
	session: Session,
	log: Logger,
): Promise<void> {
	const { rowsTotal } = progressOf(step.days, 0);
	const logProgress = (rowsDone: number) =>
		log.info(progressOf(step.days, rowsDone), "loading days");
	logProgress(0);
	for (const sql of statements(table, step)) {
		const inserted = await session.run(sql, (share) =>
			logProgress(Math.floor(share * rowsTotal)),
		);
		if (inserted !== rowsTotal)
			throw new JobFailure(
				"ObjectMismatch",
				`The objects gave ${inserted} rows, but the manifest says ${rowsTotal}`,
			);
	}
	logProgress(rowsTotal);
}

/** Heartbeats are a few bodies again and again. With a dictionary such a table is a twentieth as large. */
async function doDiffer(
	{ bodiesOf }: Extract<LoadStep, { do: "SkipDictionary" }>,
	session: Session,
): Promise<boolean> {
	if (bodiesOf.length === 0) return true;
	const [sample] = await session.rows<{ bodies: bigint; differ: bigint }>(
		bodySample(bodiesOf),
	);
	return Number(sample!.differ) > 0.9 * Number(sample!.bodies);
}

async function checkRows(
	table: string,
	step: Extract<LoadStep, { do: "CheckRows" }>,
	session: Session,
): Promise<void> {
	const rows = await counted(table, step, session);
	if (rows !== step.rows)
		throw new JobFailure(
			"ObjectMismatch",
			`Table ${table} would have ${rows} rows${step.date ? ` on ${step.date}` : ""}, but the manifest says ${step.rows}`,
		);
}

async function checkNew(
	table: string,
	step: Extract<LoadStep, { do: "CheckNew" }>,
	session: Session,
): Promise<void> {
	if ((await counted(table, step, session)) > 0) throw new TableChanged(table);
}

async function counted(
	table: string,
	step: Parameters<typeof rowCount>[1],
	session: Session,
): Promise<number> {
	const [found] = await session.rows<{ rows: bigint }>(rowCount(table, step));
	return Number(found?.rows);
}
