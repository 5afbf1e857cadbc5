// In make test: test/faults/data-plane/load-crashes.laptop.test.ts
import { tryKillsOfAdditions, tryTerminations } from "./load-crashes-cases.ts";

tryTerminations();
tryKillsOfAdditions();
