import type {
	ManifestAnswer,
	ManifestQuestion,
} from "../../contracts/manifest.ts";
import { manifestSubject } from "../../contracts/nats.ts";
import { pipelineKind, type Run, runKind } from "../../crds/generated/types.ts";
import { fieldManager } from "../../crds/labels.ts";
import {
	ApiError,
	hasReason,
	type KubeClient,
} from "../../kube/client/client.ts";
import { kinds, type Secret } from "../../kube/kinds.ts";
import type { Result } from "../../kube/reconcile/controller.ts";
import { controllerReference } from "../../kube/resource.ts";
import { askArchive } from "../archive/ask.ts";
import { applyActions } from "../reconcile/actions.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { keysSecretName, readKeys } from "../source/keys.ts";
import type { RunAction } from "./action.ts";
import { decideRefused, decideStart, type RunState } from "./decide.ts";
import { inputSecretName, type RunJob } from "./job.ts";

/** Does what was decided, and what follows from the answers of archive and Kubernetes. */
export function applyRun(
	context: OperatorContext,
	state: RunState,
	actions: RunAction[],
): Promise<Result | undefined> {
	const { client } = context;
	return applyActions<Run, RunAction>(
		context,
		{ kind: runKind, verb: "Run" },
		state.run,
		actions,
		async (action, run) => {
			switch (action.type) {
				case "adopt":
					return { object: await adopt(context, state) };
				case "askManifest": {
					const { question, target } = action;
					const answer = await ask(context, state, question);
					const now = Date.now();
					return {
						instead: decideStart({ ...state, run }, target, answer, now),
					};
				}
				case "startJob": {
					const refusal = await start(context, run, action.runJob);
					return refusal === undefined
						? undefined
						: { instead: decideRefused(run, refusal, Date.now()) };
				}
				case "removeJob": {
					await removeInput(context, run);
					const { name, namespace } = run.metadata;
					const { uid } = state.job?.metadata ?? {};
					if (uid) await client.delete(kinds.job, name, namespace, { uid });
					return undefined;
				}
			}
		},
	);
}

async function adopt(
	{ client }: OperatorContext,
	{ run, references }: RunState,
): Promise<Run> {
	const { name, namespace, resourceVersion, ownerReferences } = run.metadata;
	const owner = controllerReference(pipelineKind, references!.pipeline);
	// Another controller, such as a workflow's, may own it already: then the Pipeline is one of several owners.
	const controlled = ownerReferences?.some(({ controller }) => controller);
	return client.patch<Run>(
		runKind,
		name,
		namespace,
		{
			metadata: {
				ownerReferences: [
					...(ownerReferences ?? []),
					{ ...owner, controller: !controlled },
				],
				resourceVersion,
			},
		},
		"merge",
		{ fieldManager },
	);
}

async function ask(
	{ informers, nats }: OperatorContext,
	{ references }: RunState,
	question: ManifestQuestion,
): Promise<ManifestAnswer> {
	const source = references!.pipeline.spec.sourceRef.name;
	const name = keysSecretName(source);
	const secret = informers.secrets.get(question.account, name);
	const keys = secret && readKeys(secret, source);
	if (keys) {
		const { shard } = keys;
		return askArchive<ManifestAnswer>(
			nats,
			{ subject: manifestSubject(shard), shard },
			question,
			"ManifestUnavailable",
		);
	}
	return {
		ok: false,
		error: {
			code: "SourceKeysUnreadable",
			message: `Secret "${name}", which tells the shard of Source "${source}", is missing or damaged. See the Source's conditions.`,
			retryable: true,
		},
	};
}

/** Returns why Kubernetes refused, in its words: a quota, an admission policy, a name that is taken. */
async function start(
	{ client }: OperatorContext,
	run: Run,
	{ job, secret }: RunJob,
): Promise<string | undefined> {
	try {
		if ((await inputOf(client, run)) === "foreign")
			return `There is a Secret "${secret.metadata.name}" that isn't of this Run "${run.metadata.uid}". Delete the Secret, or make a Run of another name.`;
		// By apply, since one may be left of an attempt that came no further; the URL in it is a newer one now.
		await client.apply(kinds.secret, secret, { fieldManager, force: true });
		await client.create(kinds.job, job, { fieldManager });
		return undefined;
	} catch (error) {
		if (hasReason(error, "AlreadyExists"))
			return `There is a Job "${job.metadata.name}" that isn't of this Run "${run.metadata.uid}". Delete the Job.`;
		const refused =
			error instanceof ApiError && [400, 403, 404, 422].includes(error.status);
		if (!refused) throw error;
		return `Kubernetes refused the Job: ${error.message}`;
	}
}

/** The Secret with the Job's input; a person may have one of that name. */
async function inputOf(
	client: KubeClient,
	{ metadata }: Run,
): Promise<Secret | "foreign" | undefined> {
	const name = inputSecretName(metadata.name);
	const secret = await client.get(kinds.secret, name, metadata.namespace);
	const owned = secret?.metadata.ownerReferences?.some(
		({ uid }) => uid === metadata.uid,
	);
	return secret && !owned ? "foreign" : secret;
}

async function removeInput(
	{ client }: OperatorContext,
	run: Run,
): Promise<void> {
	const secret = await inputOf(client, run);
	if (!secret || secret === "foreign") return;
	const { name, namespace, uid } = secret.metadata;
	await client.delete(kinds.secret, name, namespace, { uid });
}
