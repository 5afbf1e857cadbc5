import type { DestinationInput } from "../../packages/contracts/job.ts";
import {
	QueryFailed,
	type SecretReader,
	type SqlFormat,
	SqlUsageError,
} from "../../packages/warehouses/definition/sql.ts";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";
import { print, printed } from "../../packages/warehouses/load/query-output.ts";
import type {
	Warehouse,
	WarehouseContext,
} from "../../packages/warehouses/load/warehouse.ts";
import { warehouseModules } from "./generated/warehouses.ts";

/** Opens a warehouse of any type. Throws {@link JobFailure}. */
export async function openWarehouse(
	input: DestinationInput,
	context: WarehouseContext,
): Promise<Warehouse> {
	const { open } = await warehouseModules[input.type]!();
	return open(input, context);
}

/** Prints what a query gives, for `tidemill sql`. Throws {@link QueryFailed}; its message ends without advice, which is for Runs. */
export async function printQuery(
	input: DestinationInput,
	sql: string,
	format: SqlFormat,
	secret: SecretReader,
): Promise<void> {
	const { query } = await warehouseModules[input.type]!();
	if (!query)
		throw new QueryFailed(
			`tidemill sql can't query ${input.type}. Use the warehouse's own tools.`,
		);
	try {
		await query(input, sql.replace(/[;\s]+$/, ""), secret, (result) =>
			print((width) => printed(result, format, width)),
		);
	} catch (error) {
		// The reader closed the pipe (`… | head`).
		if ((error as NodeJS.ErrnoException).code === "EPIPE") return;
		if (error instanceof JobFailure) throw new QueryFailed(error.what);
		if (error instanceof SqlUsageError) throw new QueryFailed(error.message);
		throw error;
	}
}
