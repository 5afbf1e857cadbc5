import { expect, test } from "vitest";
import type { Run } from "../../crds/generated/types.ts";
import {
	contextOf,
	type FinishedSpan,
	traceparent,
} from "../../packages/service/trace-context.ts";
import { runOf } from "../../test/support/examples/resource-examples.ts";
import { traceRuns, withTrace } from "./run-trace.ts";

test("each Run that ends has one span, from its creation to its end", () => {
	const spans: FinishedSpan[] = [];
	let change: (run: Run, previous?: Run, deleted?: boolean) => void = () => {};
	traceRuns(
		{ record: (span) => spans.push(span) },
		{
			onChange: (handler) => {
				change = (run, previous, deleted = false) =>
					handler(run, previous, deleted);
			},
		},
	);
	const before = runOf("r", { phase: "Running" });
	const after = runOf("r", {
		phase: "Failed",
		completionTime: "2026-03-01T00:01:40Z",
		error: { code: "DestinationBusy", message: "secret?", retryable: true },
	});
	change(before);
	change(after);
	change(after, before);
	change(after, after);
	change(after, before, true);
	expect(spans).toEqual([
		{
			name: "run",
			kind: "internal",
			context: contextOf("run", "uid-r"),
			startMs: Date.parse("2026-03-01T00:00:00Z"),
			endMs: Date.parse("2026-03-01T00:01:40Z"),
			attributes: {
				"tidemill.account": "shop",
				"tidemill.pipeline": "load-orders",
				"tidemill.run": "r",
				"tidemill.run.uid": "uid-r",
				"tidemill.run.phase": "Failed",
			},
			error: "DestinationBusy",
		},
	]);
});

test("a Job learns the Run's span and the collector, unless its template says otherwise", () => {
	const jobWith = (env: { name: string; value: string }[]) => ({
		secret: { metadata: { name: "input" } },
		job: {
			metadata: { name: "r" },
			spec: {
				template: {
					spec: { containers: [{ name: "tidemill", env }] },
				},
			},
		},
	});
	const envOf = (env: { name: string; value: string }[]) =>
		withTrace(jobWith(env), runOf("r"), "http://collector:4318").job.spec!
			.template.spec!.containers[0]!.env;
	const parent = {
		name: "TRACEPARENT",
		value: traceparent(contextOf("run", "uid-r")),
	};
	const endpoint = {
		name: "OTEL_EXPORTER_OTLP_ENDPOINT",
		value: "http://collector:4318",
	};
	const own = { name: "OWN", value: "1" };
	expect(envOf([own])).toEqual([own, parent, endpoint]);
	const other = { ...endpoint, value: "http://own:4318" };
	expect(envOf([other])).toEqual([other, parent]);
});
