import type {
	Layout,
	Pipeline,
	PipelineAdoptedTable,
	PipelineLastSuccess,
} from "../../crds/generated/types.ts";

type Table = Pick<Layout, "destination" | "table">;

/**
 * Whether Runs may take over a table that isn't the Pipeline's. Who leaves `spec.table.adopt` in the spec has said so of the
 * table as it was then, and not of one that somebody else takes later.
 */
export function mayAdopt(
	{ spec, status }: Pick<Pipeline, "spec" | "status">,
	{ destination, table }: Table,
): boolean {
	const used = status?.adoptedTable;
	const isUsedUp = used?.destination === destination && used.table === table;
	return spec.table.adopt === true && !isUsedUp;
}

/** For which table the field is used up: the first Run that succeeds while it is set has the table. */
export function adoptedTableOf(
	{ spec, status }: Pick<Pipeline, "spec" | "status">,
	lastSuccess: PipelineLastSuccess | undefined,
): PipelineAdoptedTable | undefined {
	if (spec.table.adopt !== true) return undefined;
	const isNew =
		lastSuccess !== undefined &&
		lastSuccess.snapshotTime !== status?.lastSuccess?.snapshotTime;
	if (!isNew) return status?.adoptedTable;
	const { destination, table } = lastSuccess.layout;
	return { destination, table };
}
