import type { Run } from "../../crds/generated/types.ts";
import { hasEnded } from "../../crds/run.ts";
import {
	contextOf,
	type FinishedSpan,
	traceparent,
} from "../../packages/service/trace-context.ts";
import type { Tracing } from "../../packages/service/tracing.ts";
import type { JobWithInput } from "../jobs/template.ts";
import type { Informers } from "../reconcile/informers.ts";

/** Records a span for each Run that ends from now on. */
export function traceRuns(
	tracing: Pick<Tracing, "record">,
	runs: Pick<Informers["runs"], "onChange">,
): void {
	runs.onChange((run, previous, deleted) => {
		if (deleted || !previous || hasEnded(previous) || !hasEnded(run)) return;
		tracing.record(runSpan(run));
	});
}

/** From the Run's creation to its end. */
function runSpan({ metadata, spec, status }: Run): FinishedSpan {
	const { phase = "", rows, error } = status!;
	return {
		name: "run",
		kind: "internal",
		context: contextOf("run", metadata.uid!),
		startMs: Date.parse(metadata.creationTimestamp!),
		endMs: Date.parse(status!.completionTime!),
		attributes: {
			"tidemill.account": metadata.namespace!,
			"tidemill.pipeline": spec.pipelineRef.name,
			"tidemill.run": metadata.name,
			"tidemill.run.uid": metadata.uid!,
			"tidemill.run.phase": phase,
			...(rows !== undefined && { "tidemill.run.rows": rows }),
		},
		error: error?.code,
	};
}

/**
 * The Job with the variables by which its process goes on with the Run's trace. What people set in the Pipeline's template wins.
 * @param endpoint Of the collector. It stands in the account's namespace, so it must need no credentials.
 */
export function withTrace(
	{ job, secret }: JobWithInput,
	{ metadata }: Run,
	endpoint: string,
): JobWithInput {
	const spec = job.spec!;
	const pod = spec.template.spec!;
	const [container, ...others] = pod.containers;
	const set = new Set(container!.env?.map(({ name }) => name));
	const variables = [
		{
			name: "TRACEPARENT",
			value: traceparent(contextOf("run", metadata.uid!)),
		},
		{ name: "OTEL_EXPORTER_OTLP_ENDPOINT", value: endpoint },
	].filter(({ name }) => !set.has(name));
	const env = [...(container!.env ?? []), ...variables];
	const containers = [{ ...container!, env }, ...others];
	const template = { ...spec.template, spec: { ...pod, containers } };
	return { secret, job: { ...job, spec: { ...spec, template } } };
}
