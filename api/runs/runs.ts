import {
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
} from "../../crds/generated/types.ts";
import { annotation } from "../../crds/labels.ts";
import { hasEnded, newRun, startedRunName } from "../../crds/run.ts";
import { validateSpec } from "../../crds/spec-validator.ts";
import { hasReason } from "../../kube/client/client.ts";
import { awaitObject } from "../../kube/watch/object-wait.ts";
import { flatPath, RequestError } from "../errors.ts";
import type { Caller, Handler } from "../handler.ts";
import { madeOnce, requestMark } from "../once/made-once.ts";
import type { OnceRequest } from "../once/request-keys.ts";
import { page } from "../resources/page.ts";
import { requireObject } from "../resources/resource-body.ts";
import { resourceNamePattern } from "../resources/resource-name.ts";
import { runView } from "../resources/views.ts";

const maxWaitSeconds = 60;

/** `POST /v1/pipelines/{name}/run`: 202 and the new Run. The body may have `dates` to reload just these. */
export const startRun: Handler = async (
	caller,
	{ params, body, once },
	reply,
) => {
	const pipeline = params.name!;
	const spec = runSpec(pipeline, body);
	const run = once?.made
		? await caller.client.get<Run>(runKind, once.made, caller.account)
		: await createRun(caller, pipeline, spec, once);
	if (!run) throw noRun(once!.made!, caller.account);
	reply.code(202).header("location", `/v1/runs/${run.metadata.name}`);
	return runView(run);
};

/** `GET /v1/runs/{name}`, with `?wait=30s` answered when the Run has ended, or after that time as it is then. */
export const getRun: Handler = async (caller, { params, query }) => {
	const waitMs = waitMsOf(query.wait);
	const name = params.name!;
	let run = await caller.client.get<Run>(runKind, name, caller.account);
	if (run && waitMs > 0) {
		const signal = AbortSignal.any([caller.gone, AbortSignal.timeout(waitMs)]);
		run = await awaitObject(caller.client, runKind, run, hasEnded, signal);
	}
	if (!run) throw noRun(name, caller.account);
	return runView(run);
};

/** `GET /v1/runs`, with `?pipeline=` those of one pipeline. */
export const listRuns: Handler = ({ client, account }, { query }) => {
	const { pipeline } = query;
	// It becomes a part of a selector: nothing but a name may pass. Nothing else is the name of a pipeline either.
	if (pipeline !== undefined && !new RegExp(resourceNamePattern).test(pipeline))
		throw new RequestError("InvalidRequest", "pipeline is not a name.", {
			details: [{ path: "pipeline", message: "must be a pipeline's name" }],
		});
	const selector = pipeline && `spec.pipelineRef.name=${pipeline}`;
	return page<Run>(client, runKind, account, query, runView, selector);
};

/** `POST /v1/runs/{name}/cancel`: 202 and the Run, which may go on for a moment. 409 when it has ended otherwise. */
export const cancelRun: Handler = async (
	{ client, account },
	{ params },
	reply,
) => {
	const name = params.name!;
	const run = await client.get<Run>(runKind, name, account);
	if (!run) throw noRun(name, account);
	reply.code(202);
	if (run.status?.phase === "Cancelled") return runView(run);
	if (hasEnded(run))
		throw new RequestError(
			"Conflict",
			`The run "${name}" has ended. What it has loaded stays.`,
		);
	return runView(
		await client.patch<Run>(
			runKind,
			name,
			account,
			{ metadata: { uid: run.metadata.uid }, spec: { cancel: true } },
			"merge",
			{ fieldManager: "tidemill-api" },
		),
	);
};

/** 404 of a Run. */
export function noRun(name: string, account: string): RequestError {
	return new RequestError(
		"NotFound",
		`There is no run "${name}" in account "${account}". It was removed if it is older than the runs that its pipeline keeps.`,
	);
}

async function createRun(
	caller: Caller,
	pipeline: string,
	spec: Run["spec"],
	once: OnceRequest | undefined,
): Promise<Run> {
	await requirePipeline(caller, pipeline);
	const { client, account: namespace } = caller;
	const metadata = {
		name: startedRunName(pipeline, once?.digest.slice(0, 10)),
		namespace,
		annotations: {
			[annotation.trigger]: "API",
			...requestMark(once).annotations,
		},
	};
	return madeOnce(client, runKind, metadata, once, () =>
		client.create<Run>(runKind, newRun(pipeline, metadata, spec), {
			fieldManager: "tidemill-api",
		}),
	);
}

function runSpec(pipeline: string, body: unknown): Run["spec"] {
	const asked = body === undefined ? {} : requireObject(body);
	const spec = { ...asked, pipelineRef: { name: pipeline } };
	const errors = validateSpec("Run", spec);
	if (errors.length > 0)
		throw new RequestError(
			"InvalidRequest",
			"The run can't be started as asked. Correct the fields in details.",
			{
				details: errors.map(({ path, message }) => ({
					path: flatPath(path),
					message,
				})),
			},
		);
	return spec;
}

/** A Run of a pipeline that isn't there would only fail later. Who may use Runs alone can't be told, and needn't be. */
async function requirePipeline(
	{ client, account }: Caller,
	name: string,
): Promise<void> {
	try {
		if (await client.get<Pipeline>(pipelineKind, name, account)) return;
	} catch (error) {
		if (hasReason(error, "Forbidden")) return;
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
	throw new RequestError("InvalidRequest", "wait is not a time to wait for.", {
		details: [
			{
				path: "wait",
				message: `must be seconds from 0s to ${maxWaitSeconds}s, such as 30s`,
			},
		],
	});
}
