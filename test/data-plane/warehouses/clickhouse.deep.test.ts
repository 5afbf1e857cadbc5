// In make test: test/data-plane/warehouses/duckdb.laptop.test.ts
import { tryCases } from "./try-cases.ts";

await tryCases("deep", "ClickHouse");
