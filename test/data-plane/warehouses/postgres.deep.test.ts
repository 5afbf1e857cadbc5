// In make test: test/data-plane/warehouses/postgres.laptop.test.ts
import { tryCases } from "./try-cases.ts";

await tryCases("deep", "Postgres");
