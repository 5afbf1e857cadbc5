import type {
	Pipeline,
	PipelineBodyColumn,
	PipelineInferredColumns,
} from "../../crds/generated/types.ts";
import {
	headerColumnOf,
	inferredColumnsOf,
	parameterColumnOf,
} from "../../crds/table-name.ts";
import { kindOfNoKey, type TableColumn } from "../../packages/contracts/job.ts";
import { parameterField } from "../../packages/contracts/route.ts";
import { yamlText } from "../../packages/escapes/yaml.ts";
import { warehouses } from "../../packages/warehouses/registry.ts";
import { pipelines as words } from "../messages/pipelines.ts";
import { type Draft, isObject, valueAt } from "../resource/draft.ts";
import { columnTypes } from "./columns.ts";
import {
	bodyColumns,
	eventColumns,
	latestBy,
	tableFieldsOf,
	tickedColumns,
	withBodyColumns,
	withEvolve,
} from "./form.ts";

/** A column that the table of a draft gets. One whose type a tracking plan says counts as a column of texts. */
export interface ChosenColumn extends TableColumn {
	/** For people. */
	type: string;
}

/** What a Source captures of requests. */
export interface CapturedFields {
	capturedHeaders?: readonly string[];
	capturedQueryParameters?: readonly string[];
}

/** The table's columns, but for the one of what no other column holds. @param followed by {@link followedColumns} */
export function tableColumns(
	draft: Draft,
	{ capturedHeaders = [], capturedQueryParameters = [] }: CapturedFields = {},
	followed: readonly PipelineBodyColumn[] = [],
): ChosenColumn[] {
	const text = (name: string, header: string): ChosenColumn => ({
		name,
		type: "String",
		from: { header },
	});
	return [
		...tickedColumns(draft).map((from) => {
			const { name, type } = eventColumns.find(({ id }) => id === from)!;
			return { name, type, from };
		}),
		...[...bodyColumns(draft), ...followed].map(
			({ name, bodyPointer, type }) => ({
				name,
				type: type ?? words.asPlanned,
				from: { bodyPointer, type: type ?? "String" } as TableColumn["from"],
			}),
		),
		...capturedHeaders.map((header) => text(headerColumnOf(header), header)),
		...capturedQueryParameters.map((name) =>
			text(parameterColumnOf(name), parameterField(name)),
		),
	];
}

/** The columns that Runs have given to members of bodies, but for those that the draft has of its own. */
export function followedColumns(
	draft: Draft,
	inferredColumns: PipelineInferredColumns | undefined,
): PipelineBodyColumn[] {
	const { name, spec } = draft;
	const own = bodyColumns(draft);
	const resource = {
		metadata: { name },
		spec: { table: isObject(spec.table) ? spec.table : {} },
		status: { inferredColumns },
	} as unknown as Pipeline;
	const followed = inferredColumnsOf(resource).filter(
		(column) =>
			// A later version may have more types.
			columnTypes.some((type) => type === column.type) &&
			!own.some(
				({ name, bodyPointer }) =>
					name === column.name || bodyPointer === column.bodyPointer,
			),
	);
	return followed as PipelineBodyColumn[];
}

/** The draft with the columns that events have brought so far as its own, and no more to come. */
export function withFrozenColumns(
	draft: Draft,
	inferred: PipelineInferredColumns | undefined,
): Draft {
	const all = [...bodyColumns(draft), ...followedColumns(draft, inferred)];
	return withEvolve(withBodyColumns(draft, all), false);
}

/** The same as a part of a manifest, or a patch. */
export function frozenColumnsYaml(
	draft: Draft,
	inferred: PipelineInferredColumns | undefined,
): string {
	const columns = bodyColumns(withFrozenColumns(draft, inferred));
	return yamlText({
		spec: { table: { schema: "Fixed", bodyColumns: columns } },
	});
}

/** A column that may tell which object an event is about. */
export interface KeyChoice {
	name: string;
	type: string;
	isTicked: boolean;
	/** Why the operator refuses it. Such a one is there only because somebody has named it. */
	problem?: string;
}

/** What the key of the latest rows may be made of, and what it is made of. */
export function keyChoices(
	draft: Draft,
	columns: readonly ChosenColumn[],
): KeyChoice[] {
	const ticked = latestBy(draft);
	const offered = columns.filter(
		(column) => column.name !== "" && isOffered(column),
	);
	const others = ticked.filter(
		(name) => !offered.some((column) => column.name === name),
	);
	return [
		...offered.map(({ name, type }) => ({
			name,
			type,
			isTicked: ticked.includes(name),
		})),
		...others.map((name) => {
			const column = columns.find((column) => column.name === name);
			const problem = !column
				? words.noColumn
				: kindOfNoKey(column) && words.noKey;
			const type = column?.type ?? "";
			return { name, type, isTicked: true, ...(problem && { problem }) };
		}),
	];
}

/** What each event has of its own tells no object, but for its date. */
function isOffered(column: ChosenColumn): boolean {
	const { from } = column;
	return (
		kindOfNoKey(column) === undefined &&
		(typeof from === "object" || from === "Date")
	);
}

/**
 * What stands against the value of a field of {@link tableFieldsOf}; undefined if nothing does, or if the field has none.
 * @param type of the Destination, if the visitor sees it
 */
export function tableFieldProblem(
	draft: Draft,
	path: string,
	type: string | undefined,
	columns: TableColumn[],
): string | undefined {
	const value = valueAt(draft.spec, path);
	if (value === undefined) return undefined;
	for (const [one, { tableProblem }] of warehouses) {
		if (!tableFieldsOf(one).some(([field]) => field === path)) continue;
		if (type !== undefined && one !== type) return words.otherWarehouse(type);
		const option = path.split(".").at(-1)!;
		return tableProblem?.({ [option]: value }, columns);
	}
	return undefined;
}
