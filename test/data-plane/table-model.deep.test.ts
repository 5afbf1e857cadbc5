// In make test: test/data-plane/warehouses/duckdb.laptop.test.ts
import { expect } from "vitest";
import { tryHistories } from "./table-model-cases.ts";

/* `make table-histories SEEDS=1..200` tries many histories, and SEED=7 one of them again. */
tryHistories(seedsOf(process.env.TABLE_SEEDS ?? "1..5"), [
	"DuckDB",
	"BigQuery",
	"Postgres",
]);

/** `7`, `1..200`, or several of these separated by commas. */
function seedsOf(text: string): number[] {
	return text.split(",").flatMap((part) => {
		const [first = Number.NaN, last = first] = part.split("..").map(Number);
		expect(first, `TABLE_SEEDS ${text}`).toBeLessThanOrEqual(last);
		return Array.from({ length: last - first + 1 }, (_, i) => first + i);
	});
}
