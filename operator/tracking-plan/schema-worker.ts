import { parentPort } from "node:worker_threads";
import type { PlanDocument } from "../../packages/contracts/tracking-plan.ts";
import { parseExact } from "../../packages/json/json-reader.ts";
import { compilePlan } from "../../packages/tracking-plan/compile.ts";
import { cacheOf } from "../../packages/tracking-plan/program.ts";
import type { CheckedPlan } from "./schema-check.ts";

// A thread of SchemaCheck: a plan comes in as its text, which has all numbers as they are written, and goes out as a CheckedPlan.
parentPort!.on("message", (document: string) =>
	parentPort!.postMessage(check(document)),
);

function check(document: string): CheckedPlan {
	const compiled = compilePlan(parseExact(document) as PlanDocument);
	if ("fault" in compiled) return compiled;
	const { code } = compiled;
	return {
		bytes: document.length + Buffer.byteLength(code) + cacheOf(code).length,
	};
}
