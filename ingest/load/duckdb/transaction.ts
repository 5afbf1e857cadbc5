import type { Logger } from "../../../service/log.ts";
import type { Session } from "../../duckdb/session.ts";
import { JobFailure } from "../errors.ts";
import type { LoadPlan, LoadStep } from "./plan.ts";
import { statements, verification } from "./statements.ts";

/**
 * Carries out a plan in one transaction: the table is as before, or has all of the plan and was found right.
 * Logs each day that is in. Throws {@link JobFailure} ObjectMismatch when the table holds other rows than planned.
 */
export async function carryOut(
	plan: LoadPlan,
	session: Session,
	log: Logger,
): Promise<void> {
	const inserts = plan.steps.filter((step) => step.do === "InsertDay");
	const rowsTotal = inserts.reduce((sum, { rows }) => sum + rows, 0);
	let [daysDone, rowsDone] = [0, 0];
	await session.transaction(async () => {
		for (const step of plan.steps) {
			if (step.do === "Verify") {
				await verify(plan.table, step, session);
				continue;
			}
			let changed = 0;
			for (const sql of statements(plan.table, step))
				changed = await session.run(sql);
			if (step.do !== "InsertDay") continue;
			if (changed !== step.rows)
				throw new JobFailure(
					"ObjectMismatch",
					`The objects of ${step.date} gave ${changed} rows where the manifest says ${step.rows}`,
				);
			rowsDone += changed;
			log.info(
				{
					date: step.date,
					rows: changed,
					rowsDone,
					rowsTotal,
					daysDone: ++daysDone,
					daysTotal: inserts.length,
				},
				"loaded a day",
			);
		}
	});
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
