import { extname } from "node:path";
import type { PlanDocument } from "../../packages/contracts/tracking-plan.ts";
import {
	BeyondLimits,
	LimitedThread,
	type ThreadLimits,
} from "../../packages/service/limited-thread.ts";

/** What a plan takes in a receiver, or what is wrong with its first invalid schema, for people. */
export type CheckedPlan = { bytes: number } | { fault: string };

/**
 * Compiles the schemas of plans, one plan at a time, in a thread with limits: strangers write them, and a few kilobytes of
 * schema can take minutes and gigabytes. A plan beyond the limits is a fault of that plan; operator and its lease notice
 * nothing.
 */
export class SchemaCheck {
	readonly #thread: LimitedThread<string, CheckedPlan>;

	constructor(limits: ThreadLimits = { cpuMs: 10_000, maxMegabytes: 256 }) {
		// The image has JavaScript in place of TypeScript.
		const file = `schema-worker${extname(import.meta.url)}`;
		this.#thread = new LimitedThread(new URL(file, import.meta.url), limits);
	}

	async check(document: PlanDocument): Promise<CheckedPlan> {
		try {
			return await this.#thread.ask(JSON.stringify(document));
		} catch (error) {
			if (!(error instanceof BeyondLimits)) throw error;
			const fault = `The plan's schemas take ${error.message} to compile. Make them smaller, or use fewer references.`;
			return { fault };
		}
	}
}
