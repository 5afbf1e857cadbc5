import type { Logger } from "../../../service/log.ts";
import type { Session } from "../../duckdb/session.ts";
import { JobFailure } from "../errors.ts";
import { progressOf } from "../progress.ts";
import type { LoadPlan, LoadStep } from "./plan.ts";
import { statements, verification } from "./statements.ts";

/**
 * Carries out a plan in one transaction: the table is as before, or has all of the plan and was found right.
 * Logs how many days and rows are in. Throws {@link JobFailure} ObjectMismatch when the table holds other rows than planned.
 */
export async function carryOut(
	plan: LoadPlan,
	session: Session,
	log: Logger,
): Promise<void> {
	await session.transaction(async () => {
		for (const step of plan.steps) {
			if (step.do === "Verify") await verify(plan.table, step, session);
			else if (step.do === "Insert")
				await insert(plan.table, step, session, log);
			else
				for (const sql of statements(plan.table, step)) await session.run(sql);
		}
	});
}

async function insert(
	table: string,
	step: Extract<LoadStep, { do: "Insert" }>,
	session: Session,
	log: Logger,
): Promise<void> {
	const { rowsTotal } = progressOf(step.days, 0);
	const say = (rowsDone: number) =>
		log.info(progressOf(step.days, rowsDone), "loading days");
	say(0);
	for (const sql of statements(table, step)) {
		const inserted = await session.run(sql, (share) =>
			say(Math.floor(share * rowsTotal)),
		);
		if (inserted !== rowsTotal)
			throw new JobFailure(
				"ObjectMismatch",
				`The objects gave ${inserted} rows where the manifest says ${rowsTotal}`,
			);
	}
	say(rowsTotal);
}

async function verify(
	table: string,
	step: Extract<LoadStep, { do: "Verify" }>,
	session: Session,
): Promise<void> {
	const [found] = await session.rows<{ rows: bigint; ids: bigint }>(
		verification(table, step),
	);
	const [rows, ids] = [Number(found?.rows), Number(found?.ids)];
	if (rows !== step.rows || ids !== step.rows)
		throw new JobFailure(
			"ObjectMismatch",
			`Table ${table} would have ${rows} rows and ${ids} event ids${step.date ? ` on ${step.date}` : ""} where the manifest says ${step.rows}`,
		);
}
