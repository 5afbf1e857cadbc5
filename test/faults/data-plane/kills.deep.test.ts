// In make test: test/faults/data-plane/kills.laptop.test.ts
import { eachKill } from "./kills-cases.ts";

eachKill();
