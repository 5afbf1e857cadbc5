import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { basename } from "node:path";
import { parentPort } from "node:worker_threads";
import type { PlanDocument } from "../../../packages/contracts/tracking-plan.ts";
import { parseExact } from "../../../packages/json/json-reader.ts";
import { compilePlan } from "../../../packages/tracking-plan/compile.ts";
import { cacheOf } from "../../../packages/tracking-plan/program.ts";
import { type CompileAnswer, packed } from "./thread-messages.ts";

// The thread that compiles plans: a plan document comes in, its code goes out.
yieldToOthers();
parentPort!.on("message", (document: string) =>
	parentPort!.postMessage(compile(parseExact(document) as PlanDocument)),
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

/** The weight of a quarter of a core that another thread would use whole (sched(7)). */
const nice = 5;

/**
 * Gives this thread less of a busy core than the event loop has. On Linux a thread has a priority of its own
 * (setpriority(2), "C library/kernel differences"); elsewhere nothing changes.
 */
function yieldToOthers(): void {
	try {
		const thread = Number(basename(readlinkSync("/proc/thread-self")));
		setPriority(thread, nice);
	} catch {
		// There is no such file, or it isn't allowed.
	}
}
