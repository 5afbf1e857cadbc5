// In make test: test/data-plane/load-body.laptop.test.ts
import { tryBodies } from "./load-body-cases.ts";

tryBodies("BigQuery");
