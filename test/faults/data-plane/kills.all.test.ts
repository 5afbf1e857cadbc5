// In make test: test/faults/data-plane/kills.laptop.test.ts
import { eachStepOnce } from "./kills-cases.ts";

eachStepOnce();
