import { parentPort } from "node:worker_threads";
import type { PlanDocument } from "../../contracts/tracking-plan.ts";
import { compilePlan } from "../../plan/compile.ts";

// A thread of SchemaCheck: a plan comes in, its fault goes out; undefined for none.
parentPort!.on("message", (document: PlanDocument) => {
	const compiled = compilePlan(document);
	parentPort!.postMessage("fault" in compiled ? compiled.fault : undefined);
});
