import { parentPort } from "node:worker_threads";
import type { PlanDocument } from "../../packages/contracts/tracking-plan.ts";
import { compilePlan } from "../../packages/tracking-plan/compile.ts";
import { cacheOf } from "../../packages/tracking-plan/program.ts";
import type { CheckedPlan } from "./schema-check.ts";

// A thread of SchemaCheck: a plan comes in, and goes out as a CheckedPlan.
parentPort!.on("message", (document: PlanDocument) =>
	parentPort!.postMessage(check(document)),
);

function check(document: PlanDocument): CheckedPlan {
	const compiled = compilePlan(document);
	if ("fault" in compiled) return compiled;
	const { code } = compiled;
	return {
		bytes:
			JSON.stringify(document).length +
			Buffer.byteLength(code) +
			cacheOf(code).length,
	};
}
