import type { DestinationInput } from "../../packages/contracts/job.ts";
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
