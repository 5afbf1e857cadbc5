import { afterEach, describe, test, vi } from "vitest";
import type { ServersTier } from "../../lanes/tiers.ts";
import {
	type WarehouseName,
	warehouseNamed,
} from "../../support/fixtures/data-plane/conforming-warehouses.ts";
import { conformanceCases } from "./conformance-cases.ts";
import { erasedCases } from "./erased-cases.ts";
import { eventTypeBesideCases } from "./event-type-beside-cases.ts";
import { eventTypeCases } from "./event-type-cases.ts";
import { evolvingBesideCases } from "./evolving-beside-cases.ts";
import { evolvingCases } from "./evolving-cases.ts";
import { interruptedCases } from "./interrupted-cases.ts";
import { latestViewCases } from "./latest-view-cases.ts";
import { leftOutCases } from "./left-out-cases.ts";
import { ownerCases } from "./owner-cases.ts";
import { tierOfCase, type WarehouseCase } from "./warehouse-case.ts";
import { wordsCases } from "./words-cases.ts";

export const suites: Record<string, WarehouseCase[]> = {
	"a table's rows": conformanceCases,
	"what a table says": wordsCases,
	"interrupted or read": interruptedCases,
	"whose a table is": ownerCases,
	"what is left out": leftOutCases,
	"what is erased": erasedCases,
	"the view of latest rows": latestViewCases,
	"tables for types of events": eventTypeCases,
	"tables for types of events, beside other choices": eventTypeBesideCases,
	"columns that follow the events": evolvingCases,
	"columns that follow the events, beside other choices": evolvingBesideCases,
};

/** The cases that a tier tries on a type of warehouse. */
export async function tryCases(
	tier: ServersTier,
	type: WarehouseName,
): Promise<void> {
	const warehouse = await warehouseNamed(type);
	if (warehouse.missing !== undefined) {
		test.skip(`${type} needs ${warehouse.missing}`);
		return;
	}
	afterEach(() => void vi.unstubAllEnvs());
	for (const [suite, cases] of Object.entries(suites)) {
		const own = cases.filter((one) => tierOfCase(one, type) === tier);
		if (own.length > 0)
			describe(suite, () => {
				for (const { name, run } of own)
					test(`${type}: ${name}`, async () =>
						run(await warehouse.open(), type));
			});
	}
}
