// Types only: the shape of an Event in Kubernetes' OpenAPI.
import type { CoreV1Event } from "@kubernetes/client-node";
import {
	claimsOf,
	type InstallationClaims,
	operatorLeaseSelector,
} from "../../crds/installation-claims.ts";
import { TransportError, unless } from "../../packages/kube/client/errors.ts";
import { isAllowed } from "../../packages/kube/client/self-review.ts";
import {
	type Condition,
	findCondition,
} from "../../packages/kube/conditions.ts";
import {
	kinds,
	type Lease,
	type Pod,
	type WireForm,
} from "../../packages/kube/kinds.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import { type Cluster, wordsOf } from "../command/cluster.ts";
import { CommandError, UsageError } from "../command/errors.ts";
import type { ClusterOptions } from "../command/group.ts";
import { restApi } from "../command/rest.ts";
import {
	claimNamesOf,
	type FailingPod,
	isPodless,
	isTroubled,
	type PodlessWorkload,
	type ToldEvent,
} from "./pods.ts";

/** What Kubernetes shows about an installation. `undefined` stands for what the person may not see. */
export interface ClusterFacts {
	/** Why the cluster doesn't answer; all else is then missing. */
	unreachable?: string;
	kubernetes?: string;
	/** The apiserver's clock minus this machine's, in milliseconds. */
	clockSkewMs?: number;
	/** The kinds that the cluster serves, such as `sources`. */
	served: string[];
	/** Verbs on kinds of the namespace that the person lacks, such as `create runs`. */
	missingRights: string[];
	/** The operators' leases, or else undefined. */
	leases?: Lease[] | undefined;
	/** What installations claim for themselves. */
	claims: InstallationClaims[];
	workloads?: WorkloadFacts[] | undefined;
	/** The namespaces that operators shall serve, and can't. */
	unserved: UnservedNamespace[];
	/** Pods of installations that aren't ready. */
	pods: FailingPod[];
	/** What has no Pod, and should. */
	podless: PodlessWorkload[];
	/** Resources of the namespace with a condition that needs somebody; without one, its operator hasn't looked at it. */
	resources: TroubledResource[];
	/** Undefined if no address of it is set. */
	restApi?: RestApiFacts | undefined;
}

export interface TroubledResource {
	kind: string;
	name: string;
	/** As kubectl has it, such as `source/shop`. */
	called: string;
	condition: Condition | undefined;
}

/** What the REST API answers to a person's own request, or why it doesn't. */
export interface RestApiFacts {
	problem?: string;
	/** Its clock minus this machine's, in milliseconds. */
	clockSkewMs?: number;
}

/** {@link UnservedNamespace.namespace} of an operator that serves all namespaces, by a ClusterRoleBinding. */
export const everywhere = "*";

/** Either it doesn't exist, or the operator has no binding there. */
export interface UnservedNamespace {
	namespace: string;
	isMissing: boolean;
	/** The operator's ServiceAccount, `<namespace>:<name>`, and the ClusterRole that it needs. */
	account: string;
	role: string;
}

/** A Deployment or StatefulSet of the chart. */
export interface WorkloadFacts extends KubeObject {
	spec: {
		replicas?: number;
		template?: {
			spec: {
				serviceAccountName?: string;
				containers: { env?: { name: string; value?: string }[] }[];
			};
		};
	};
	status?: {
		replicas?: number;
		readyReplicas?: number;
		conditions?: { type: string; status: string; message?: string }[];
	};
}

export const group = "tidemill.dev";
export const version = "v1alpha1";
const partOf = "app.kubernetes.io/part-of=tidemill";
/** In local mode no installation claims anything, so its Lease has no labels. */
const localLease = "tidemill-operator";

/** Of the core group, which the built-in role `view` may read. */
type CoreEvent = WireForm<CoreV1Event>;
const coreEvent: ResourceKind<CoreEvent> = {
	group: "",
	version: "v1",
	kind: "Event",
	plural: "events",
	namespaced: true,
};
const deployments = workloadKind("Deployment", "deployments");
const statefulSets = workloadKind("StatefulSet", "statefulsets");

/** Asks the apiserver alone: whoever has a kubeconfig can do that. */
export async function readFacts(
	cluster: Cluster,
	rights: readonly (readonly [verb: string, plural: string])[],
	resourceKinds: readonly ResourceKind<KubeObject>[],
): Promise<ClusterFacts> {
	const facts: ClusterFacts = {
		served: [],
		missingRights: [],
		claims: [],
		unserved: [],
		pods: [],
		podless: [],
		resources: [],
	};
	try {
		Object.assign(facts, await readServer(cluster));
	} catch (error) {
		if (!(error instanceof TransportError)) throw error;
		return { ...facts, unreachable: error.message };
	}
	const [served, missingRights, leases, installed, ofApi] = await Promise.all([
		readServed(cluster),
		readMissingRights(cluster, rights),
		readLeases(cluster),
		readInstalled(cluster),
		readRestApi(cluster.options ?? {}),
	]);
	return {
		...facts,
		...installed,
		served,
		missingRights,
		leases,
		restApi: ofApi,
		claims: (leases ?? []).flatMap((lease) => claimsOf(lease) ?? []),
		resources: (
			await Promise.all(
				resourceKinds
					.filter(({ plural }) => served.includes(plural))
					.map((kind) => readTroubled(cluster, kind)),
			)
		).flat(),
	};
}

async function readLeases(cluster: Cluster): Promise<Lease[] | undefined> {
	const [labelled, local] = await Promise.all([
		listWhereAllowed(cluster, kinds.lease, {
			labelSelector: operatorLeaseSelector,
		}),
		listWhereAllowed(cluster, kinds.lease, {
			fieldSelector: `metadata.name=${localLease}`,
		}),
	]);
	return labelled?.length ? labelled : local;
}

/** What the chart has installed, and why Pods of it aren't ready. */
async function readInstalled(
	cluster: Cluster,
): Promise<Pick<ClusterFacts, "workloads" | "unserved" | "pods" | "podless">> {
	const list = <T extends KubeObject>(
		kind: ResourceKind<T>,
		labelSelector = partOf,
	) => listWhereAllowed(cluster, kind, { labelSelector });
	const [ofDeployments, ofStatefulSets, pods = [], jobs = []] =
		await Promise.all([
			list(deployments),
			list(statefulSets),
			list(kinds.pod),
			list(kinds.job, `${partOf},app.kubernetes.io/component=setup`),
		]);
	const workloads = [ofDeployments, ofStatefulSets].flatMap(
		(found) => found ?? [],
	);
	const eventsOf = (object: KubeObject) => readEvents(cluster, object);
	const podless = [
		...jobs.filter((job) => isPodless(job, pods)),
		...workloads.filter(
			({ spec, status }) => (status?.replicas ?? 0) < (spec.replicas ?? 1),
		),
	];
	return {
		workloads: ofDeployments && workloads,
		unserved: (
			await Promise.all(
				(ofDeployments ?? []).map((each) => readUnserved(cluster, each)),
			)
		).flat(),
		pods: await Promise.all(
			pods.filter(isTroubled).map(async (pod) => ({
				pod,
				events: await eventsOf(pod),
				claims: await readUnboundClaims(cluster, pod),
			})),
		),
		podless: [
			...(await Promise.all(
				podless.map(async (object) => ({
					name: object.metadata.name,
					namespace: object.metadata.namespace!,
					events: [
						...(await eventsOf(object)),
						// A Deployment's Pods are made by its ReplicaSet, whose failures it repeats.
						...failuresOf(object as WorkloadFacts),
					],
				})),
			)),
			...(await readGoneSetup(cluster, workloads, jobs)),
		],
	};
}

async function readUnboundClaims(cluster: Cluster, pod: Pod) {
	const { namespace } = pod.metadata;
	const claims = await Promise.all(
		claimNamesOf(pod).map((name) =>
			ifAllowed(
				cluster.client.get(kinds.persistentVolumeClaim, name, namespace),
			),
		),
	);
	return Promise.all(
		claims
			.filter((claim) => claim !== undefined)
			.filter(({ status }) => status?.phase !== "Bound")
			.map(async (claim) => ({
				claim,
				events: await readEvents(cluster, claim),
			})),
	);
}

/**
 * The setup Job is deleted when it fails, so that nothing of it stays. Kubernetes keeps its Pod's events for an hour: they matter
 * where no workload has followed.
 */
async function readGoneSetup(
	cluster: Cluster,
	workloads: readonly KubeObject[],
	jobs: readonly KubeObject[],
): Promise<PodlessWorkload[]> {
	const events = await listWhereAllowed(cluster, coreEvent, {
		fieldSelector: "involvedObject.kind=Pod,type=Warning",
	});
	const isThere = (namespace: string | undefined) =>
		[...workloads, ...jobs].some(
			({ metadata }) => metadata.namespace === namespace,
		);
	const ofSetup = (events ?? []).filter(
		({ involvedObject: { name = "", namespace } }) =>
			/-setup-[0-9a-f]{8}-[a-z0-9]+$/.test(name) && !isThere(namespace),
	);
	const byPod = Map.groupBy(
		ofSetup,
		({ involvedObject }) => involvedObject.name,
	);
	return [...byPod].map(([name, events]) => ({
		name: `pod ${name}`,
		namespace: events[0]!.metadata.namespace!,
		events: inOrder(events),
	}));
}

function failuresOf({ status }: WorkloadFacts): ToldEvent[] {
	return (status?.conditions ?? [])
		.filter(
			({ type, status }) => type === "ReplicaFailure" && status === "True",
		)
		.map(({ message = "" }) => ({
			type: "Warning",
			reason: "FailedCreate",
			note: message,
		}));
}

async function readEvents(
	{ client }: Cluster,
	{ metadata }: KubeObject,
): Promise<ToldEvent[]> {
	const list = await ifAllowed(
		client.list(coreEvent, {
			namespace: metadata.namespace,
			fieldSelector: `involvedObject.uid=${metadata.uid}`,
		}),
	);
	return inOrder(list?.items ?? []);
}

/** The newest last. */
function inOrder(events: CoreEvent[]): ToldEvent[] {
	const timeOf = ({ series, lastTimestamp, eventTime, metadata }: CoreEvent) =>
		Date.parse(
			series?.lastObservedTime ??
				lastTimestamp ??
				eventTime ??
				metadata.creationTimestamp ??
				"",
		) || 0;
	return events
		.toSorted((a, b) => timeOf(a) - timeOf(b))
		.map(({ type = "", reason = "", message = "" }) => ({
			type,
			reason,
			note: message,
		}));
}

/** In all namespaces, or else in the person's own; undefined if not even there. */
async function listWhereAllowed<T extends KubeObject>(
	{ client, namespace }: Cluster,
	kind: ResourceKind<T>,
	selector: { labelSelector?: string; fieldSelector?: string },
): Promise<T[] | undefined> {
	const list =
		(await ifAllowed(client.list(kind, selector))) ??
		(await ifAllowed(client.list(kind, { ...selector, namespace })));
	return list?.items;
}

async function readServer({
	client,
}: Cluster): Promise<Pick<ClusterFacts, "kubernetes" | "clockSkewMs">> {
	const answer = await client.rawStream(
		"/version",
		{},
		AbortSignal.timeout(10_000),
	);
	const nowMs = Date.now();
	let text = "";
	for await (const chunk of answer.setEncoding("utf8")) text += chunk;
	return {
		kubernetes: JSON.parse(text).gitVersion,
		...skewOf(answer.headers.date, nowMs),
	};
}

/** By the header `Date`, which has whole seconds (RFC 9110 §5.6.7): its middle is the best guess. */
function skewOf(
	header: string | null | undefined,
	nowMs: number,
): { clockSkewMs?: number } {
	const date = Date.parse(header ?? "");
	return Number.isFinite(date) ? { clockSkewMs: date + 500 - nowMs } : {};
}

async function readServed({ client }: Cluster): Promise<string[]> {
	const list = (await unless(
		client.raw("GET", `/apis/${group}/${version}`),
		"NotFound",
		"Not Found",
	)) as { resources: { name: string }[] } | undefined;
	const names = list?.resources.map(({ name }) => name) ?? [];
	return names.filter((name) => !name.includes("/"));
}

async function readMissingRights(
	{ client, namespace }: Cluster,
	rights: readonly (readonly [verb: string, plural: string])[],
): Promise<string[]> {
	const missing = await Promise.all(
		rights.map(async ([verb, resource]) =>
			(await isAllowed(client, { namespace, group, verb, resource }))
				? []
				: [`${verb} ${resource}`],
		),
	);
	return missing.flat();
}

/** Of a Deployment that isn't an operator's: none. */
async function readUnserved(
	{ client }: Cluster,
	{ metadata, spec }: WorkloadFacts,
): Promise<UnservedNamespace[]> {
	const { serviceAccountName = "default", containers = [] } =
		spec.template?.spec ?? {};
	const env = new Map(
		containers.flatMap((each) =>
			(each.env ?? []).map(({ name, value }) => [name, value ?? ""]),
		),
	);
	const watched = (env.get("WATCH_NAMESPACES") ?? "").split(",");
	const account = `${metadata.namespace}:${serviceAccountName}`;
	const role = env.get("NAMESPACE_ROLE") ?? "tidemill-operator-in-namespace";
	const found = await Promise.all(
		watched
			.map((name) => name.trim())
			.filter((name) => name)
			.map(async (namespace) => {
				const isMissing =
					namespace !== everywhere &&
					((await ifAllowed(
						client
							.get(kinds.namespace, namespace)
							.then((object) => object === undefined),
					)) ??
						false);
				const isBound =
					!isMissing && (await mayCreateJobs(client, account, namespace));
				return isBound ? [] : [{ namespace, isMissing, account, role }];
			}),
	);
	return found.flat();
}

/** Whether a ServiceAccount may; also if this person may not ask. */
async function mayCreateJobs(
	client: Cluster["client"],
	account: string,
	namespace: string,
): Promise<boolean> {
	const apiVersion = "authorization.k8s.io/v1";
	const attributes = { group: "batch", resource: "jobs", verb: "create" };
	const review = await ifAllowed(
		client.raw("POST", `/apis/${apiVersion}/subjectaccessreviews`, {
			body: {
				apiVersion,
				kind: "SubjectAccessReview",
				spec: {
					user: `system:serviceaccount:${account}`,
					groups: [
						"system:serviceaccounts",
						`system:serviceaccounts:${account.split(":")[0]}`,
						"system:authenticated",
					],
					resourceAttributes: {
						...(namespace !== everywhere && { namespace }),
						...attributes,
					},
				},
			},
		}),
	);
	return (
		(review as { status: { allowed: boolean } } | undefined)?.status.allowed ??
		true
	);
}

async function readRestApi(
	options: ClusterOptions,
): Promise<RestApiFacts | undefined> {
	if (!process.env.TIDEMILL_API_URL) return undefined;
	try {
		const answer = await restApi(options).get("/sources", { limit: "1" });
		await answer.body?.cancel();
		return skewOf(answer.headers.get("date"), Date.now());
	} catch (error) {
		if (error instanceof CommandError || error instanceof UsageError)
			return { problem: error.message };
		throw error;
	}
}

async function readTroubled(
	{ client, namespace }: Cluster,
	kind: ResourceKind<KubeObject>,
): Promise<ClusterFacts["resources"]> {
	const list = await ifAllowed(client.list(kind, { namespace }));
	return (list?.items ?? []).flatMap<TroubledResource>((object) => {
		const { status } = object as { status?: { conditions?: Condition[] } };
		const { name } = object.metadata;
		const named = {
			kind: kind.kind,
			name: `${wordsOf(kind)[0]} ${name}`,
			called: `${kind.kind.toLowerCase()}/${name}`,
		};
		if (!findCondition(status?.conditions, "Ready"))
			return [{ ...named, condition: undefined }];
		return (status?.conditions ?? [])
			.filter(needsSomebody)
			.map((condition) => ({ ...named, condition }));
	});
}

/**
 * Whether a condition is `Ready` and not True, or `ValuesFit` and False; of a Source that lost events, whose buffer fills or whose events
 * archive leaves waiting; of a Pipeline whose last Run failed; or of a Destination that stops with 0.2.0.
 */
export function needsSomebody({ type, status, reason }: Condition): boolean {
	return (
		(type === "Ready" && status !== "True") ||
		(type === "ValuesFit" && status === "False") ||
		(["EventsLost", "BufferFills", "ArchiveLags"].includes(type) &&
			status === "True") ||
		(type === "RunSucceeded" && reason === "Failed") ||
		reason === "VerifiedUnbound"
	);
}

/** Undefined if the person may not read it. */
function ifAllowed<T>(reading: Promise<T>): Promise<T | undefined> {
	return unless(reading, "Forbidden");
}

function workloadKind(
	kind: string,
	plural: string,
): ResourceKind<WorkloadFacts> {
	return { group: "apps", version: "v1", kind, plural, namespaced: true };
}
