import {
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
} from "../../crds/generated/types.ts";
import { annotation } from "../../crds/labels.ts";
import {
	hasEnded,
	newRun,
	pausesScheduleOnly,
	startedRunName,
} from "../../crds/run.ts";
import { hasReason } from "../../packages/kube/client/client.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { awaitObject } from "../../packages/kube/watch/object-wait.ts";
import {
	type ApiRequest,
	type Handler,
	writeOptions,
} from "../http/endpoint.ts";
import {
	type ErrorDetail,
	invalidParameter,
	RequestError,
} from "../http/errors.ts";
import { createOnce, requestAnnotation } from "../http/idempotency-key.ts";
import { flagOf } from "../http/query.ts";
import {
	type ListFilter,
	newestFirst,
	selectorsOf,
} from "../resources/page.ts";
import { nullErrors, requireBounded } from "../resources/spec-walk.ts";
import { writeValidated } from "../resources/validated-write.ts";
import { runView } from "../resources/views.ts";

const maxWaitSeconds = 60;

/**
 * `POST /v1/pipelines/{name}/run`: 202 and the new Run. `dates` in the body limit it to those dates, `full` loads all. With
 * `?queue=true` it may wait for a Pipeline that can't run; otherwise the answer is 409.
 */
export const startRun: Handler = async (request, reply) => {
	const { params, query, body, idempotency } = request;
	const pipeline = params.name!;
	const waits = flagOf("queue", query.queue);
	requireBounded("Run", "run", body);
	const errors = nullErrors("Run", body, false);
	const spec = { ...body, pipelineRef: { name: pipeline } };
	const created = idempotency?.created;
	const run = created
		? await requireRun(request, created)
		: await createRun(request, pipeline, waits, { spec, errors });
	reply.code(202).header("location", `/v1/runs/${run.metadata.name}`);
	return runView(run);
};

/** `GET /v1/runs/{name}`. With `?wait=30s` it answers when the Run has ended, or after that time. */
export const getRun: Handler = async (request) => {
	const { params, query } = request;
	const waitMs = waitMsOf(query.wait);
	const name = params.name!;
	const run = await requireRun(request, name);
	if (waitMs === 0) return runView(run);
	const signal = AbortSignal.any([
		request.whenGone(),
		AbortSignal.timeout(waitMs),
	]);
	const last = await awaitObject(
		request.client,
		runKind,
		run,
		hasEnded,
		signal,
	);
	if (!last) throw notFound(name, request.account);
	return runView(last);
};

/** How a list of Runs can be limited. */
export const runFilters: Record<string, ListFilter> = {
	pipeline: { field: "spec.pipelineRef.name" },
	status: {
		field: "status.phase",
		values: ["Pending", "Running", "Succeeded", "Failed", "Cancelled"],
	},
	trigger: { field: "status.trigger", values: ["Schedule", "API", "Manual"] },
};

/** `GET /v1/runs`, newest first. With `?pipeline=`, only those of one pipeline; with `?from=` and `?to=`, those of a time. */
export const listRuns: Handler = ({
	client,
	account: namespace,
	query,
	whenGone,
	server,
}) => {
	const selectors = selectorsOf(runFilters, query);
	const runs = { client, kind: runKind, namespace, selectors, whenGone };
	return newestFirst<Run>(runs, query, runView, server.newestIndex);
};

/** `POST /v1/runs/{name}/cancel`: 202 and the Run, which stops soon. 409 if it has ended in another way. */
export const cancelRun: Handler = async (request, reply) => {
	const { params } = request;
	const name = params.name!;
	const run = await requireRun(request, name);
	reply.code(202);
	if (run.status?.phase === "Cancelled") return runView(run);
	if (hasEnded(run))
		throw new RequestError(
			"Conflict",
			`The run "${name}" has already ended. The data that it loaded remains.`,
		);
	return runView(
		await request.client.patch<Run>(
			runKind,
			name,
			request.account,
			{ metadata: { uid: run.metadata.uid }, spec: { cancel: true } },
			"merge",
			writeOptions,
		),
	);
};

/** Throws a 404 if there is no such Run. */
export async function requireRun(
	{ client, account }: ApiRequest,
	name: string,
): Promise<Run> {
	const run = await client.get<Run>(runKind, name, account);
	if (!run) throw notFound(name, account);
	return run;
}

function notFound(name: string, account: string): RequestError {
	return new RequestError(
		"NotFound",
		`There is no run "${name}" in account "${account}". A pipeline removes its oldest runs.`,
	);
}

async function createRun(
	request: ApiRequest,
	pipeline: string,
	waits: boolean,
	{ spec, errors }: { spec: Run["spec"]; errors: ErrorDetail[] },
): Promise<Run> {
	const found = await pipelineOf(request, pipeline);
	if (found && !waits) requireReady(found);
	const { client, account: namespace, idempotency } = request;
	const metadata = {
		name: startedRunName(pipeline, idempotency?.digest.slice(0, 10)),
		namespace,
		annotations: {
			[annotation.request]: request.id,
			...requestAnnotation(idempotency).annotations,
		},
	};
	const run = newRun(pipeline, metadata, spec);
	return createOnce(client, runKind, metadata, idempotency, () =>
		writeValidated("run", { errors }, false, (options) =>
			client.create<Run>(runKind, run, options),
		),
	);
}

/** Throws a 404 if there is no such Pipeline. Undefined for a caller who may not read pipelines. */
async function pipelineOf(
	{ client, account }: ApiRequest,
	name: string,
): Promise<Pipeline | undefined> {
	try {
		const found = await client.get<Pipeline>(pipelineKind, name, account);
		if (found) return found;
	} catch (error) {
		if (hasReason(error, "Forbidden")) return undefined;
		throw error;
	}
	throw new RequestError(
		"NotFound",
		`There is no pipeline "${name}" in account "${account}".`,
	);
}

function waitMsOf(wait: string | undefined): number {
	if (wait === undefined) return 0;
	const seconds = Number(/^(\d{1,2})s?$/.exec(wait)?.[1] ?? Number.NaN);
	if (seconds <= maxWaitSeconds) return seconds * 1000;
	throw invalidParameter(
		"wait",
		`must be between 0s and ${maxWaitSeconds}s, such as 30s`,
		wait,
	);
}

/**
 * Throws a 409 if a new Run of the Pipeline would wait for a person. Not while the operator has still to check the Pipeline
 * or what it refers to: that takes seconds.
 */
export function requireReady({ metadata, status }: Pipeline): void {
	const ready = findCondition(status?.conditions, "Ready");
	const isValidated = ready?.observedGeneration === metadata.generation;
	if (ready?.status !== "False" || !isValidated) return;
	if (pausesScheduleOnly.has(ready.reason)) return;
	throw new RequestError(
		"PipelineNotReady",
		`The pipeline "${metadata.name}" can't run (${ready.reason}): ${ready.message} Correct that first, or let the run wait for that (in REST, ?queue=true).`,
	);
}
