// In make test: test/data-plane/warehouses/duckdb.laptop.test.ts
import { tryHistories } from "./table-model-cases.ts";

tryHistories([1]);
