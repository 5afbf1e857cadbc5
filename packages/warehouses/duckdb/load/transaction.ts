import { quoteName } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import type { Logger } from "../../../service/log.ts";
import { JobFailure } from "../../load/failure.ts";
import { progressOf, type TableLoad } from "../../load/load-table.ts";
import { TableChanged } from "../../load/warehouse.ts";
import {
	type RecordChange,
	recordStatements,
	tidyRecord,
	WrittenRows,
} from "./load-record.ts";
import type { LoadPlan, LoadStep } from "./plan.ts";
import {
	bodySample,
	insertion,
	publish,
	rowCount,
	stage,
	statements,
} from "./staged-table.ts";

/**
 * Loads in one transaction, so that the plan rests on the table that it changes. Commits only if the table then has exactly the
 * planned rows. Logs progress. Throws {@link JobFailure} ObjectMismatch if the rows differ, and {@link TableChanged} if the table has
 * events already that are to be added.
 */
export class DuckDBLoad implements TableLoad<LoadPlan> {
	readonly plan: () => Promise<LoadPlan>;
	readonly #session: Session;
	readonly #log: Logger;
	readonly #isStaged: boolean;
	#written: WrittenRows | undefined;
	/** Of the table, if anything. */
	recorded: RecordChange | undefined;

	/** @param isStaged Whether the plan has a Stage, which comes before the transaction. */
	constructor(
		plan: () => Promise<LoadPlan>,
		session: Session,
		log: Logger,
		isStaged = false,
	) {
		this.plan = plan;
		this.#session = session;
		this.#log = log;
		this.#isStaged = isStaged;
	}

	async locked<T>(work: () => Promise<T>): Promise<T> {
		if (this.#isStaged) await this.#carryOut(await this.plan(), "Stage");
		let result: T;
		await this.#session.transaction(async () => {
			result = await work();
		});
		return result!;
	}

	isAtOnce(): boolean {
		return true;
	}

	prepare(plan: LoadPlan): Promise<void> {
		return this.#carryOut(plan, "Table");
	}

	publish(plan: LoadPlan): Promise<void> {
		return this.#carryOut(plan, "Rows");
	}

	finish(plan: LoadPlan): Promise<void> {
		return this.#carryOut(plan, "View");
	}

	async count({ table }: LoadPlan): Promise<number> {
		const [all] = await this.#session.rows<{ rows: bigint }>(
			`SELECT count(*) AS rows FROM ${quoteName(table)}`,
		);
		return Number(all?.rows);
	}

	async #carryOut({ table, steps }: LoadPlan, part: Part): Promise<void> {
		const session = this.#session;
		// Of a table that is loaded as a whole, nothing is recorded.
		if (steps.some(isRecording)) this.#written ??= new WrittenRows(session);
		const before = steps.findIndex((step) => step.do === "Stage") + 1;
		for (const [index, step] of steps.entries()) {
			if ((index < before ? "Stage" : partOf(step)) !== part) continue;
			if (step.do === "Insert")
				await insert(table, step, session, this.#log, this.#written);
			else if (step.do === "Stage")
				await stage(table, step, session, this.#log, this.#written);
			else if (step.do === "Record") {
				this.recorded = step.change;
				const digests = this.#written?.digests ?? new Map();
				for (const sql of recordStatements(table, step.change, digests))
					await session.run(sql);
				await tidyRecord(table, step.change, session);
			} else await carryOutStep(table, step, session);
		}
	}
}

/** What a step is about, in the order of a load. */
type Part = "Stage" | "Table" | "Rows" | "View";

function partOf(step: LoadStep): Part {
	switch (step.do) {
		case "CreateTable":
		case "ReplaceTable":
		case "AddColumns":
		case "Publish":
		case "Comment":
		case "CommentColumns":
			return "Table";
		case "WriteView":
		case "DropView":
			return "View";
		default:
			return "Rows";
	}
}

function isRecording(step: LoadStep): boolean {
	return step.do === "Record" && step.change.record !== undefined;
}

async function carryOutStep(
	table: string,
	step: Exclude<LoadStep, { do: "Insert" | "Stage" | "Record" }>,
	session: Session,
): Promise<void> {
	if (step.do === "CheckRows") await checkRows(table, step, session);
	else if (step.do === "CheckNew") await checkNew(table, step, session);
	else if (step.do === "Publish") await publish(table, step, session);
	else if (step.do !== "SkipDictionary" || (await doDiffer(step, session)))
		for (const sql of statements(table, step)) await session.run(sql);
}

async function insert(
	table: string,
	step: Extract<LoadStep, { do: "Insert" }>,
	session: Session,
	log: Logger,
	written: WrittenRows | undefined,
): Promise<void> {
	const { rowsTotal } = progressOf(step.days, 0);
	const logProgress = (rowsDone: number) =>
		log.info(progressOf(step.days, rowsDone), "loading days");
	logProgress(0);
	const inserted = await session.run(
		insertion(table, step.objects, step.columns, written),
		(share) => logProgress(Math.floor(share * rowsTotal)),
	);
	if (inserted !== rowsTotal)
		throw new JobFailure(
			"ObjectMismatch",
			`The objects gave ${inserted} rows, but the manifest says ${rowsTotal}`,
		);
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
