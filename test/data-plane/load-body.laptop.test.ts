import { tryBodies } from "./load-body-cases.ts";

tryBodies("DuckDB");
