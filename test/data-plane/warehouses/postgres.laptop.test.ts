import { tryCases } from "./try-cases.ts";

await tryCases("laptop", "Postgres");
