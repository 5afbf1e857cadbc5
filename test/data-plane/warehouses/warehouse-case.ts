import type { ServersTier } from "../../lanes/tiers.ts";
import type {
	ConformingWarehouse,
	WarehouseName,
} from "../../support/fixtures/data-plane/conforming-warehouses.ts";

/** What a type of warehouse promises of a table. A new type keeps to all of them, once it has its own way in conforming-warehouses.ts. */
export interface WarehouseCase {
	name: string;
	/** Proves what the README or the docs promise of every type, so it runs on a laptop, too. */
	promise?: true;
	/** It costs seconds on a type, and tries what all types share: a push tries it on DuckDB and the newest Postgres alone. */
	shared?: true;
	/** It costs tens of seconds on a type, and a push tries the same with less. */
	nightly?: true;
	/** Absent for every type. */
	on?: readonly WarehouseName[];
	run(warehouse: ConformingWarehouse, type: WarehouseName): Promise<void>;
}

const onLaptop: readonly WarehouseName[] = ["DuckDB", "Postgres"];
const newest: readonly WarehouseName[] = [
	...onLaptop,
	"BigQuery",
	"ClickHouse",
];
const older: readonly WarehouseName[] = [
	"Postgres 14 behind PgBouncer",
	"Debian's Postgres 15",
];

/** After which statements a Run is killed, one after the other. */
export const strikes = [
	{ which: "every third", step: 3, on: newest },
	{ which: "any", step: 1, nightly: true },
] as const;

export const allBut = (type: WarehouseName): readonly WarehouseName[] =>
	[...newest, ...older].filter((one) => one !== type);

/** The one tier that tries a case on a type; undefined if none does. */
export function tierOfCase(
	{ promise, shared, nightly, on }: WarehouseCase,
	type: WarehouseName,
): ServersTier | undefined {
	if (on && !on.includes(type)) return undefined;
	if (nightly) return "deep";
	if (onLaptop.includes(type)) return promise ? "laptop" : "all";
	return newest.includes(type) && !shared ? "all" : "deep";
}
