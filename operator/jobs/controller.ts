import type { NatsConnection } from "@nats-io/transport-node";
import { fieldManager } from "../../crds/labels.ts";
import {
	hasReason,
	KubeApiError,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import type { Condition } from "../../packages/kube/conditions.ts";
import {
	isOver,
	type Job,
	kinds,
	type Pod,
} from "../../packages/kube/kinds.ts";
import type { ControllerLoop } from "../../packages/kube/reconcile/controller.ts";
import {
	isControlledBy,
	type KubeObject,
	keyOf,
	type ObjectKey,
	type ResourceKind,
} from "../../packages/kube/resource.ts";
import type { Informer } from "../../packages/kube/watch/informer.ts";
import { listAll } from "../../packages/kube/watch/reflector.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { podParts } from "../reconcile/held.ts";
import { ArchiveQuestions, isQuestion } from "../reconcile/questions.ts";
import { createResourceLoop } from "../reconcile/resource-loop.ts";
import type { NotPermittedReport } from "../reconcile/while-permitted.ts";
import type { RequestOutcomes } from "./kind.ts";
import { isInForce, nameTaken } from "./refusal.ts";
import type { JobOwner, JobSlots } from "./slots.ts";
import type { JobWithInput } from "./template.ts";
import type { JobAction } from "./transition.ts";

/** What a kind with Jobs works with, beyond {@link OperatorContext}. */
export interface JobDeps {
	slots: JobSlots;
	nats: NatsConnection;
}

type Owner = KubeObject & { status?: { conditions?: Condition[] } };

/** A kind whose objects are carried out by Jobs. */
export interface JobKind<T extends Owner, State, Action> {
	/** For logs and metrics. */
	name: string;
	kind: ResourceKind<T>;
	known: Informer<T>;
	owner: JobOwner["kind"];
	/** What a KubeEvent says was done, in one word. */
	verb: string;
	/** The label of Jobs and Pods that names their object. */
	label: string;
	workers: number;
	/** How many questions of one account to one shard may wait for archive at once. */
	questionsAtOnce: number;
	/** All that a decision rests on; undefined if there is nothing to decide. */
	read(
		key: ObjectKey,
		outcomes: RequestOutcomes,
		now: number,
	): Promise<State | undefined>;
	decide(state: State, now: number): Action[];
	objectIn(state: State): T;
	/** The Job that `removeJob` removes, and the Secret with its input. */
	removalOf(
		state: State,
		action: Action,
	): { job: Job | undefined; secretName: string };
	/** Whether there is a Job, or still one of an earlier decision. */
	hasJob(state: State): boolean;
	/** What people read while the operator lacks its permissions in the namespace. */
	notPermitted: Pick<NotPermittedReport<T>, "condition" | "statusOf">;
	/** Does what only this kind decides, and returns the object as it is then. */
	apply?(object: T, action: Action, state: State): Promise<T>;
}

/** What any kind with Jobs decides. Its other actions go to {@link JobKind.apply}. */
type AnyAction<T extends Owner> = JobAction | { type: "delete"; object: T };

/**
 * The loop of a kind whose objects are carried out by Jobs: one decision a reconcile, on what all requests have come to by
 * then. It doesn't run yet.
 */
export function createJobLoop<
	T extends Owner,
	State extends object,
	Action extends { type: string },
>(
	context: OperatorContext & JobDeps,
	of: JobKind<T, State, Action>,
): ControllerLoop {
	const { client, informers, slots } = context;
	const questions = new ArchiveQuestions(context, of.questionsAtOnce, (key) =>
		loop.enqueue(key),
	);
	const ofChild = ({ metadata }: KubeObject): ObjectKey[] => {
		const { namespace = "", labels = {} } = metadata;
		const name = labels[of.label];
		return name ? [{ namespace, name }] : [];
	};
	const ownerOf = (key: ObjectKey): JobOwner => ({ kind: of.owner, ...key });

	const loop = createResourceLoop<T, State, Action, object>(context, {
		name: of.name,
		known: of.known,
		verb: of.verb,
		workers: of.workers,
		decidesRefusals: true,
		async read(object, { now, refusal }) {
			const key = keyOf(object);
			const outcomes = {
				answered: questions.answered(key),
				progress: questions.progressOf(key),
				place: slots.placeOf(ownerOf(key)),
				refusal,
			};
			return of.read(key, outcomes, now);
		},
		decide: of.decide,
		objectIn: of.objectIn,
		onDecision(key, actions, state, refusal) {
			const isUnderWay = actions.some(
				(action) => isQuestion(action) || stepsToJob.has(action.type),
			);
			// The answer stays while Kubernetes refuses the Job: archive isn't asked again and again.
			if (!state || !(isUnderWay || isInForce(refusal))) questions.drop(key);
			if (!state || !(isUnderWay || of.hasJob(state)))
				slots.release(ownerOf(key));
		},
		async apply(own, object, state) {
			const each = own as Action;
			if (isQuestion(each)) {
				questions.ask(object, each);
				return object;
			}
			const action = each as unknown as AnyAction<T>;
			switch (action.type) {
				case "startJob": {
					const { job, dryRun, age } = action;
					// Only now, so that nobody holds a slot while archive is slow. The place is part of the next look's state.
					if (slots.take(ownerOf(keyOf(object)), age)) return { outcome: {} };
					await startJob(client, job, { dryRun });
					return object;
				}
				case "removeJob":
					await removeJob(client, object, of.removalOf(state, each));
					return object;
				case "delete": {
					const { name, namespace, uid } = action.object.metadata;
					await client.delete(of.kind, name, namespace, { uid: uid! });
					return object;
				}
				case "awaitSlot":
					return { requeueAfterMs: action.afterMs };
				default:
					return of.apply!(object, each, state);
			}
		},
		notPermitted: {
			...of.notPermitted,
			release: (object) => {
				const key = keyOf(object);
				questions.drop(key);
				const jobs = informers.jobs.open(key.namespace).flatMap(ofChild);
				if (!jobs.some(({ name }) => name === key.name))
					slots.release(ownerOf(key));
			},
		},
	});
	slots.onFree(of.owner, (key) => loop.enqueue(key));
	// Those of an earlier process hold a slot before anything else gets one.
	informers.jobs.onChange((job, previous) => {
		if (previous || isOver(job)) return;
		for (const key of ofChild(job)) slots.hold(ownerOf(key));
	});
	loop.watch(informers.jobs, ofChild);
	loop.watch(informers.pods, ofChild);
	return loop;
}

const stepsToJob: ReadonlySet<string> = new Set<JobAction["type"]>([
	"startJob",
	"awaitSlot",
]);

/**
 * An object that has at most one Job, with that Job and its Pods; undefined if there is no such object.
 * @param of `isConfirmed`: memory is enough, since nothing is started whatever it lacks.
 */
export async function readWithJob<T extends KubeObject>(
	{ client, informers }: OperatorContext,
	known: Pick<Informer<T>, "get">,
	of: {
		key: ObjectKey;
		kind: ResourceKind<T>;
		jobName: string;
		label: string;
		isConfirmed(object: T): boolean;
	},
): Promise<{ object: T; job: Job | undefined; pods: Pod[] } | undefined> {
	const { namespace, name } = of.key;
	let object = known.get(namespace, name);
	if (!object) return undefined;
	let job = informers.jobs.get(namespace, of.jobName);
	if (!job && !of.isConfirmed(object)) {
		// Memory may lag behind: what a Job has done and was recorded must not start again. A Job is removed after its object is
		// written, so the object is read after the Job.
		job = await client.get(kinds.job, of.jobName, namespace);
		object = await client.get<T>(of.kind, name, namespace);
		if (!object) return undefined;
	}
	const { uid } = object.metadata;
	if (job && (job.metadata.deletionTimestamp || !isControlledBy(job, uid)))
		job = undefined;
	const pods = job
		? await podsOfJob(client, informers.pods, job, `${of.label}=${name}`)
		: [];
	return { object, job, pods };
}

/**
 * A Job's Pods.
 * @param known From memory.
 * @param labelSelector Selects the Job's Pods, and perhaps others.
 */
export async function podsOfJob(
	client: KubeClient,
	known: { ofJob(uid: string): Pod[] },
	job: Job,
	labelSelector: string,
): Promise<Pod[]> {
	const { namespace, uid } = job.metadata;
	if (!isOver(job)) return known.ofJob(uid!);
	// The Pods have the result, and memory may know the end of the Job before theirs.
	const scope = { namespace, labelSelector };
	const { items } = await listAll(client, kinds.pod, scope, podParts);
	return items.filter((pod) => isControlledBy(pod, uid));
}

/**
 * Starts a Job after its input is there. Starting a Job twice does nothing. Throws what Kubernetes answers if it refuses, and
 * {@link nameTaken} as such a refusal.
 * @param options `dryRun`: nothing is written. Quotas and admission policies still say whether they refuse the Job.
 */
async function startJob(
	client: KubeClient,
	{ job, secret }: JobWithInput,
	{ dryRun = false }: { dryRun?: boolean } = {},
): Promise<void> {
	const [owner] = job.metadata.ownerReferences!;
	const { name, namespace } = job.metadata;
	const taken = (what: string) =>
		new KubeApiError(
			409,
			{
				reason: nameTaken,
				message: `${what} exists, but does not belong to ${owner!.kind} "${owner!.name}". Delete it: kubectl delete ${what.toLowerCase().replaceAll('"', "")} -n ${namespace}`,
			},
			undefined,
			{ method: "POST", path: "" },
		);
	const existing = await findSecret(client, secret);
	if (existing && !isControlledBy(existing, owner!.uid))
		throw taken(`Secret "${secret.metadata.name}"`);
	// Applied, since an earlier attempt may have left one with outdated input.
	await client.apply(kinds.secret, secret, {
		fieldManager,
		force: true,
		dryRun,
	});
	try {
		await client.create(kinds.job, job, { fieldManager, dryRun });
	} catch (error) {
		if (!hasReason(error, "AlreadyExists")) throw error;
		const existing = await client.get(kinds.job, name, namespace);
		if (!existing) throw error;
		// Our own is one that memory lacks or which is being deleted: its next change wakes the controller.
		if (!isControlledBy(existing, owner!.uid)) throw taken(`Job "${name}"`);
	}
}

/**
 * Removes a Job with its Pods, and the input. What the owner doesn't control belongs to somebody else and stays. Removing
 * twice does nothing.
 */
export async function removeJob(
	client: KubeClient,
	owner: KubeObject,
	{ job, secretName }: { job: Job | undefined; secretName: string },
): Promise<void> {
	const { namespace } = owner.metadata;
	if (job && !isControlledBy(job, owner.metadata.uid)) return;
	const secret = await findSecret(client, {
		metadata: { name: secretName, ...(namespace && { namespace }) },
	});
	if (secret && isControlledBy(secret, owner.metadata.uid))
		await client.delete(kinds.secret, secretName, namespace, {
			uid: secret.metadata.uid!,
		});
	if (job)
		await client.delete(kinds.job, job.metadata.name, namespace, {
			uid: job.metadata.uid!,
		});
}

/** Its metadata alone: the Secret may be somebody else's. */
function findSecret(client: KubeClient, { metadata }: KubeObject) {
	const { name, namespace } = metadata;
	return client.get(kinds.secret, name, namespace, { metadataOnly: true });
}
