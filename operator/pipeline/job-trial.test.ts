import { expect, test, vi } from "vitest";
import type { Pipeline } from "../../crds/generated/types.ts";
import {
	KubeApiError,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import {
	created,
	nowMs,
	scheduled,
	stateOf,
} from "../../test/support/examples/pipeline-examples.ts";
import { decide } from "./decide.ts";
import { JobTrials } from "./job-trial.ts";

const references = stateOf();
const { pipeline } = references;

/** Trials of a Job that Kubernetes answers so. */
function trialsWith(answer: () => Promise<unknown>) {
	const create = vi.fn<(...of: unknown[]) => Promise<unknown>>(answer);
	const client = { create } as unknown as KubeClient;
	return { create, trials: new JobTrials({ client, image: "tidemill:1" }) };
}

function refused(status: number, reason: string, message: string) {
	const request = { method: "POST", path: "/apis/batch/v1/namespaces/n/jobs" };
	return Promise.reject(
		new KubeApiError(status, { reason, message }, undefined, request),
	);
}

test.each([
	[422, "Invalid", 'Job "x" is invalid: a label', /refused the Job: .*a label/],
	[403, "Forbidden", "exceeded quota: all", /exceeded quota/],
	[404, "NotFound", 'namespaces "n" not found', /not found/],
	[409, "AlreadyExists", "jobs.batch exists", undefined],
	[400, "BadRequest", "the webhook does not support dry run", undefined],
	[500, "InternalError", "etcd is away", undefined],
	[429, "TooManyRequests", "later", undefined],
])("an answer %i %s (%s) counts as %s", async (status, reason, text, words) => {
	const { trials } = trialsWith(() => refused(status, reason, text));
	const refusal = await trials.refusalOf(references);
	if (words) expect(refusal).toMatch(words);
	else expect(refusal).toBeUndefined();
});

test("Kubernetes is asked once for a Job, writes nothing, and is asked again for another one or after half a minute of refusing", async () => {
	vi.useFakeTimers();
	try {
		const { create, trials } = trialsWith(() => Promise.resolve({}));
		const ask = (of = references) => trials.refusalOf(of);
		await ask();
		await ask();
		expect(create).toHaveBeenCalledTimes(1);
		expect(create.mock.calls[0]?.[2]).toMatchObject({ dryRun: true });
		const labels = { "sidecar.istio.io/inject": "false" };
		const runTemplate = { ...pipeline.spec.runTemplate, labels };
		const changed = {
			...references,
			pipeline: { ...pipeline, spec: { ...pipeline.spec, runTemplate } },
		};
		create.mockImplementation(() => refused(422, "Invalid", "no"));
		for (let looks = 0; looks < 2; looks++)
			expect(await ask(changed)).toContain("no");
		expect(create).toHaveBeenCalledTimes(2);
		vi.advanceTimersByTime(30_001);
		create.mockResolvedValue({});
		expect(await ask(changed)).toBeUndefined();
		expect(create).toHaveBeenCalledTimes(3);
	} finally {
		vi.useRealTimers();
	}
});

test("Pipelines of a namespace whose Jobs differ in names alone are one question, also if all ask at once", async () => {
	const { create, trials } = trialsWith(() => refused(422, "Invalid", "no"));
	const like = (name: string, more: Partial<Pipeline["spec"]> = {}) => ({
		...references,
		pipeline: {
			...pipeline,
			metadata: { ...pipeline.metadata, name, uid: `uid of ${name}` },
			spec: { ...pipeline.spec, ...more },
		},
	});
	const answers = await Promise.all(
		["a", "b", "c"].map((name) => trials.refusalOf(like(name))),
	);
	expect(answers).toEqual(Array(3).fill(expect.stringContaining("no")));
	expect(create).toHaveBeenCalledTimes(1);
	await trials.refusalOf(
		like("d", {
			runTemplate: { ...pipeline.spec.runTemplate, retries: 7 },
		}),
	);
	expect(create).toHaveBeenCalledTimes(2);
	const elsewhere = like("a");
	elsewhere.pipeline.metadata.namespace = "elsewhere";
	await trials.refusalOf(elsewhere);
	expect(create).toHaveBeenCalledTimes(3);
});

test("a Pipeline whose Job is refused starts no Run, and looks again after half a minute", () => {
	const due = stateOf({ pipeline: scheduled("2026-03-10T10:00:00Z") });
	expect(created(due)).toHaveLength(1);
	const state = { ...due, jobRefusal: "It has a space." };
	expect(created(state)).toEqual([]);
	const actions = decide(state, nowMs);
	const written = actions.find(({ type }) => type === "writeStatus");
	expect(written).toMatchObject({
		status: {
			conditions: expect.arrayContaining([
				expect.objectContaining({
					type: "Ready",
					status: "False",
					reason: "JobRefused",
					message:
						"It has a space. Correct spec.runTemplate, or the quota or policy that refuses it.",
				}),
			]),
		},
	});
	const again = actions.find(({ type }) => type === "requeueAfter");
	expect(again).toMatchObject({ afterMs: expect.any(Number) });
	expect((again as { afterMs: number }).afterMs).toBeLessThanOrEqual(30_001);
});
