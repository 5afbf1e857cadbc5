import { setTimeout as delay } from "node:timers/promises";
import type { ErasingStatement } from "../../load/erasing-access.ts";
import { JobFailure } from "../../load/failure.ts";
import type { Connection } from "./connection.ts";
import { ClickHouseFailure } from "./failure.ts";
import { quoteText, type Statements } from "./statements.ts";

const longestPauseMs = 5_000;

/**
 * Changes or deletes rows, and returns once the table has changed. The server works by itself and is asked how far it is: a
 * statement that waits for it says nothing meanwhile, and a connection that is silent for a minute counts as lost.
 */
export async function mutate(
	connection: Connection,
	statements: Statements,
	table: string,
	change: ErasingStatement,
	signal: AbortSignal,
): Promise<void> {
	const ask = () => mutations(connection, table);
	const before = await ask();
	await connection.run(
		statements.mutate(table, change, { waits: before === undefined }),
	);
	if (!before) return;
	const isOld = new Set(before.map(({ id }) => id));
	let ours: Set<string> | undefined;
	for (let pauseMs = 20; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
		const now = (await ask())!.filter(({ id }) => !isOld.has(id));
		ours ??= new Set(now.map(({ id }) => id));
		const own = now.filter(({ id }) => ours!.has(id));
		if (own.length === 0 || own.length < ours.size)
			throw new ClickHouseFailure(
				"ClickHouseBusy",
				`A change of rows of ${table} was stopped`,
			);
		const reason = own.find(({ reason }) => reason !== "")?.reason;
		if (reason !== undefined)
			throw new ClickHouseFailure(
				"ClickHouseBusy",
				`ClickHouse can't change rows of ${table}: ${reason.slice(0, 300)}`,
			);
		if (own.every(({ isDone }) => isDone)) return;
		await delay(pauseMs, undefined, { signal });
	}
}

/** Undefined where a statement must wait: other replicas have theirs, and a user of a database alone may not read about any. */
async function mutations(
	connection: Connection,
	table: string,
): Promise<{ id: string; isDone: boolean; reason: string }[] | undefined> {
	const { database, engine } = connection.input;
	if (engine !== "MergeTree") return undefined;
	try {
		const found = await connection.rows<{
			mutation_id: string;
			is_done: number;
			latest_fail_reason: string;
		}>(
			`SELECT mutation_id, is_done, latest_fail_reason FROM system.mutations WHERE database = ${quoteText(database)} AND table = ${quoteText(table)}`,
		);
		return found.map(({ mutation_id, is_done, latest_fail_reason }) => ({
			id: mutation_id,
			isDone: Boolean(is_done),
			reason: latest_fail_reason,
		}));
	} catch (error) {
		if (error instanceof JobFailure && error.code === "PermissionDenied")
			return undefined;
		throw error;
	}
}
