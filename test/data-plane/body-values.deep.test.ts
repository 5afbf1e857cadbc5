// In make test: test/data-plane/load.laptop.test.ts
import { tryBodies } from "./body-values-cases.ts";

/* `make fuzz` sends more. */
tryBodies({
	seed: Number(process.env.SEED || 39),
	count: Number(process.env.BODIES || 4_000),
});
