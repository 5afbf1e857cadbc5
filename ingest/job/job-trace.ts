import type { Logger } from "../../packages/service/log.ts";
import type { Settings } from "../../packages/service/settings.ts";
import {
	contextOf,
	maxLinks,
	newContext,
	parseTraceparent,
	type TraceContext,
} from "../../packages/service/trace-context.ts";
import { openTracing, type Tracing } from "../../packages/service/tracing.ts";

/** The span of a Job's process, below that of the Run that the variable TRACEPARENT names, with links to the objects it loads. */
export class JobTrace {
	readonly #role: string;
	readonly #tracing: Tracing;
	readonly #parent: TraceContext;
	readonly #startMs = Date.now();
	#keys: readonly string[] = [];

	/** Undefined without a collector or a parent. A wrong setting costs the trace alone. */
	static async open(
		role: string,
		settings: Settings,
		log: Logger,
	): Promise<JobTrace | undefined> {
		const parent = parseTraceparent(settings.optional("TRACEPARENT"));
		if (!parent?.isSampled) return undefined;
		try {
			const tracing = await openTracing(role, settings, log);
			return tracing && new JobTrace(role, tracing, parent);
		} catch (error) {
			log.warn({ reason: (error as Error).name }, "the Job has no trace");
			return undefined;
		}
	}

	private constructor(role: string, tracing: Tracing, parent: TraceContext) {
		this.#role = role;
		this.#tracing = tracing;
		this.#parent = parent;
	}

	/** @param keys in the order of their dates. */
	loads(keys: readonly string[]): void {
		this.#keys = keys;
	}

	/** @param failure the error's code. */
	async ended(failure: string | undefined): Promise<void> {
		// The newest are those that people look for.
		const linked = this.#keys.slice(-maxLinks);
		this.#tracing.record({
			name: this.#role,
			kind: "consumer",
			context: newContext(this.#parent),
			parent: this.#parent,
			links: linked.map((key) => ({
				context: contextOf("object", key),
				attributes: { "tidemill.object.key": key },
			})),
			startMs: this.#startMs,
			endMs: Date.now(),
			attributes: { "tidemill.objects": this.#keys.length },
			error: failure,
		});
		await this.#tracing.stop();
	}
}
