import { parentPort } from "node:worker_threads";
import type { PlanDocument } from "../../../packages/contracts/tracking-plan.ts";
import { compilePlan } from "../../../packages/tracking-plan/compile.ts";
import { cacheOf } from "../../../packages/tracking-plan/program.ts";
import type { CompileAnswer } from "./compilation.ts";
import { packed } from "./packed-memory.ts";
import { yieldToOthers } from "./thread-priority.ts";

// The thread that compiles plans: a plan document comes in, its code goes out.
yieldToOthers();
parentPort!.on("message", (document: string) =>
	parentPort!.postMessage(compile(JSON.parse(document))),
);

function compile(document: PlanDocument): CompileAnswer {
	if (document.version !== 1)
		return {
			fault: `the plan document has version ${document.version}, but this receive reads version 1: upgrade receive before operator`,
		};
	const compiled = compilePlan(document);
	if ("fault" in compiled) return compiled;
	const { eventType } = document;
	return {
		code: packed(compiled.code),
		cache: packed(cacheOf(compiled.code)),
		typeHeader: "header" in eventType ? eventType.header : undefined,
	};
}
