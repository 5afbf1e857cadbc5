// In make test: test/data-plane/load.laptop.test.ts
import { tryBodies } from "./body-values-cases.ts";

tryBodies({ seed: 39, count: 400 });
