import { createHash } from "node:crypto";
import type {
	LatestView,
	LoadInput,
	TableColumn,
} from "../../contracts/job.ts";
import { readComment } from "./columns.ts";
import { JobFailure } from "./failure.ts";
import { pipelineOf } from "./table-mark.ts";
import type { ExistingColumn, WantedColumn } from "./table-plan.ts";

/** What a view of latest rows says of itself, beside its rows. What lacks it isn't one that loads have made. */
export interface ViewMark {
	/** The Pipeline that loads the table, `<namespace>/<name>`. */
	pipeline: string;
	/** A digest of what the view selects: another one makes it anew. */
	view: string;
	/** A digest of the view as the warehouse has it, where people can change that and leave the mark. */
	made?: string;
}

/** What has the name of the view. */
export interface FoundView {
	/** Such as `table` or `view`. */
	kind: string;
	/** Undefined if it has none, or isn't a view. */
	mark: ViewMark | undefined;
	/** Whether it is what its mark tells; absent where a view that people change loses its mark. */
	isAsMade?: boolean;
}

/** The view that a table shall have. */
export interface WantedView {
	name: string;
	/** For people. */
	words: string;
	mark: ViewMark;
	/** What a person has made of it is undone: {@link rewrittenWords}. */
	undoes?: true;
}

/** What a load does to the view of its table; undefined for nothing. */
export type ViewChange =
	| ({ do: "Write" } & WantedView)
	| { do: "Drop"; name: string };

/**
 * Decides before anything changes. A view is the Pipeline's if its mark says so, or if it has any and the Pipeline adopts tables.
 * What people have made is never touched.
 * @param definition What the warehouse's view says, in any form.
 * @param isStale Whether the view that is there must be written all the same.
 * Throws {@link JobFailure} ViewNotOurs if the name is somebody else's.
 */
export function viewChange(
	input: Pick<LoadInput, "table" | "run" | "adopt">,
	found: FoundView | undefined,
	definition: unknown,
	isStale = false,
): ViewChange | undefined {
	const { name: table, latest } = input.table;
	if (!latest) return undefined;
	const { name, by } = latest;
	const pipeline = pipelineOf(input);
	const isOurs =
		found?.mark !== undefined &&
		(found.mark.pipeline === pipeline || input.adopt === true);
	if (by.length === 0) return isOurs ? { do: "Drop", name } : undefined;
	if (found && !isOurs)
		throw new JobFailure(
			"ViewNotOurs",
			`The view of the latest rows of table ${table} can't be made, and the table is left as it is: a ${found.kind} ${name} is there that this Pipeline didn't make`,
		);
	const view = createHash("sha256")
		.update(JSON.stringify(definition))
		.digest("hex")
		.slice(0, 16);
	const isSame = found?.mark?.view === view && found.mark.pipeline === pipeline;
	const undoes = isSame && found.isAsMade === false;
	if (isSame && !isStale && !undoes) return undefined;
	return {
		do: "Write",
		name,
		words: `The latest row of table ${table} for each ${by.join(", ")}`,
		mark: { pipeline, view },
		...(undoes && { undoes }),
	};
}

/** For people, of a view that a load writes because it isn't what its mark tells; undefined for any other change. */
export function rewrittenWords(
	change: ViewChange | undefined,
): string | undefined {
	return change?.do === "Write" && change.undoes
		? `View ${change.name} wasn't as a Run had left it: somebody changed it, renamed its table, or restored both. It is written anew.`
		: undefined;
}

/** @param comment The view's. */
export function viewMarkIn(comment: string | null): ViewMark | undefined {
	const { mark } = readComment<Partial<ViewMark>>(comment ?? "");
	const { pipeline, view, made } = mark ?? {};
	return pipeline !== undefined && view !== undefined
		? { pipeline, view, ...(made !== undefined && { made }) }
		: undefined;
}

/**
 * The columns of a view while a table takes the place of one that has columns which the new one lacks: those that both have alike, so
 * that whoever reads the view in between can. Undefined if the view may stay as it is; `NoKey` if no such view has the key.
 */
export function columnsBetween(
	{ columns, latest }: LoadInput["table"],
	existing: readonly ExistingColumn[],
	wanted: readonly WantedColumn[],
): TableColumn[] | "NoKey" | undefined {
	const isAlike = ({ name, type }: ExistingColumn) =>
		wanted.some((column) => column.name === name && column.type === type);
	if (!latest || existing.every(isAlike)) return undefined;
	const kept = new Set(existing.filter(isAlike).map(({ name }) => name));
	const isNeeded = ({ name, from }: TableColumn) =>
		latest.by.includes(name) || from === "Timestamp" || from === "EventID";
	return columns.every((column) => kept.has(column.name) || !isNeeded(column))
		? columns.filter(({ name }) => kept.has(name))
		: "NoKey";
}

/** The names of the columns that a view of latest rows is made by, as SQL. */
export function latestSql(
	columns: readonly TableColumn[],
	{ by }: LatestView,
	quote: (name: string) => string,
): { all: string; key: string; newest: string } {
	const list = (names: readonly string[]) => names.map(quote).join(", ");
	const newest = (["Timestamp", "EventID"] as const).flatMap((wanted) =>
		columns.filter(({ from }) => from === wanted).map(({ name }) => name),
	);
	return {
		all: list(columns.map(({ name }) => name)),
		key: list(by),
		newest: newest.map((name) => `${quote(name)} DESC`).join(", "),
	};
}
