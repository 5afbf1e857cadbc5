import { hasReason, TransportError } from "../../kube/client/errors.ts";
import type { Condition } from "../../kube/conditions.ts";
import { kinds, type Lease } from "../../kube/kinds.ts";
import type { KubeObject, ResourceKind } from "../../kube/resource.ts";
import { type Cluster, wordsOf } from "../command/cluster.ts";

/** What Kubernetes shows about an installation. `undefined` stands for what the person may not see. */
export interface Facts {
	/** Why the cluster doesn't answer; all else is then missing. */
	unreachable?: string;
	kubernetes?: string;
	/** The apiserver's clock minus this machine's, in milliseconds. */
	clockSkewMs?: number;
	/** The kinds that the cluster serves, such as `sources`. */
	served: string[];
	/** Verbs on kinds of the namespace that the person lacks, such as `create runs`. */
	missingRights: string[];
	/** The operators' leases in all namespaces, or else undefined. */
	leases?: Lease[] | undefined;
	workloads?: Workload[] | undefined;
	/** The namespaces that operators shall serve, and can't. */
	unserved: UnservedNamespace[];
	/** Resources of the namespace with a condition that needs somebody. */
	resources: { name: string; condition: Condition }[];
}

/** Either it doesn't exist, or the operator has no binding there. */
export interface UnservedNamespace {
	namespace: string;
	isMissing: boolean;
	/** The operator's ServiceAccount, `<namespace>:<name>`, and the ClusterRole that it needs. */
	account: string;
	role: string;
}

/** A Deployment or StatefulSet of the chart. */
export interface Workload extends KubeObject {
	spec: {
		replicas?: number;
		template?: {
			spec: {
				serviceAccountName?: string;
				containers: { env?: { name: string; value?: string }[] }[];
			};
		};
	};
	status?: { readyReplicas?: number };
}

export const group = "tidemill.dev";
export const version = "v1alpha1";
const partOf = "app.kubernetes.io/part-of=tidemill";
const leaseName = "tidemill-operator";

const deployments = workloadKind("Deployment", "deployments");
const statefulSets = workloadKind("StatefulSet", "statefulsets");

/** Asks the apiserver alone: whoever has a kubeconfig can do that. */
export async function readFacts(
	cluster: Cluster,
	rights: readonly (readonly [verb: string, plural: string])[],
	resourceKinds: readonly ResourceKind<KubeObject>[],
): Promise<Facts> {
	const { client } = cluster;
	const facts: Facts = {
		served: [],
		missingRights: [],
		unserved: [],
		resources: [],
	};
	try {
		Object.assign(facts, await readServer(cluster));
	} catch (error) {
		if (!(error instanceof TransportError)) throw error;
		return { ...facts, unreachable: error.message };
	}
	const [served, missingRights, leases, ofDeployments, ofStatefulSets] =
		await Promise.all([
			readServed(cluster),
			readMissingRights(cluster, rights),
			ifAllowed(
				client.list(kinds.lease, {
					fieldSelector: `metadata.name=${leaseName}`,
				}),
			),
			ifAllowed(client.list(deployments, { labelSelector: partOf })),
			ifAllowed(client.list(statefulSets, { labelSelector: partOf })),
		]);
	const workloads = [ofDeployments, ofStatefulSets].flatMap(
		(found) => found?.items ?? [],
	);
	return {
		...facts,
		served,
		missingRights,
		leases: leases?.items,
		workloads: ofDeployments && workloads,
		unserved: (
			await Promise.all(
				(ofDeployments?.items ?? []).map((each) => readUnserved(cluster, each)),
			)
		).flat(),
		resources: (
			await Promise.all(
				resourceKinds
					.filter(({ plural }) => served.includes(plural))
					.map((kind) => readTroubled(cluster, kind)),
			)
		).flat(),
	};
}

async function readServer({
	client,
}: Cluster): Promise<Pick<Facts, "kubernetes" | "clockSkewMs">> {
	const answer = await client.rawStream(
		"/version",
		{},
		AbortSignal.timeout(10_000),
	);
	const nowMs = Date.now();
	let text = "";
	for await (const chunk of answer.setEncoding("utf8")) text += chunk;
	const date = Date.parse(answer.headers.date ?? "");
	return {
		kubernetes: JSON.parse(text).gitVersion,
		// The header has whole seconds (RFC 9110 §5.6.7): its middle is the best guess.
		...(Number.isFinite(date) && { clockSkewMs: date + 500 - nowMs }),
	};
}

async function readServed({ client }: Cluster): Promise<string[]> {
	try {
		const list = await client.raw("GET", `/apis/${group}/${version}`);
		return (list as { resources: { name: string }[] }).resources
			.map(({ name }) => name)
			.filter((name) => !name.includes("/"));
	} catch (error) {
		if (hasReason(error, "NotFound", "Not Found")) return [];
		throw error;
	}
}

/** authorization.k8s.io/v1 SelfSubjectAccessReview: anybody may ask about themselves. */
async function readMissingRights(
	{ client, namespace }: Cluster,
	rights: readonly (readonly [verb: string, plural: string])[],
): Promise<string[]> {
	const missing = await Promise.all(
		rights.map(async ([verb, resource]) => {
			const review = (await client.raw(
				"POST",
				"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
				{
					body: {
						apiVersion: "authorization.k8s.io/v1",
						kind: "SelfSubjectAccessReview",
						spec: { resourceAttributes: { namespace, group, verb, resource } },
					},
				},
			)) as { status: { allowed: boolean } };
			return review.status.allowed ? [] : [`${verb} ${resource}`];
		}),
	);
	return missing.flat();
}

/** Of a Deployment that isn't an operator's: none. */
async function readUnserved(
	{ client }: Cluster,
	{ metadata, spec }: Workload,
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
			.filter((name) => name && name !== "*")
			.map(async (namespace) => {
				const isMissing =
					(await ifAllowed(
						client
							.get(kinds.namespace, namespace)
							.then((object) => object === undefined),
					)) ?? false;
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
					resourceAttributes: { namespace, ...attributes },
				},
			},
		}),
	);
	return (
		(review as { status: { allowed: boolean } } | undefined)?.status.allowed ??
		true
	);
}

/** Those whose condition `Ready` is False, and Sources that lost events or whose buffer fills. */
async function readTroubled(
	{ client, namespace }: Cluster,
	kind: ResourceKind<KubeObject>,
): Promise<Facts["resources"]> {
	const list = await ifAllowed(client.list(kind, { namespace }));
	return (list?.items ?? []).flatMap((object) => {
		const { status } = object as { status?: { conditions?: Condition[] } };
		return (status?.conditions ?? [])
			.filter(
				({ type, status }) =>
					(type === "Ready" && status === "False") ||
					(["EventsLost", "BufferFills"].includes(type) && status === "True"),
			)
			.map((condition) => ({
				name: `${wordsOf(kind)[0]} ${object.metadata.name}`,
				condition,
			}));
	});
}

async function ifAllowed<T>(reading: Promise<T>): Promise<T | undefined> {
	try {
		return await reading;
	} catch (error) {
		if (!hasReason(error, "Forbidden")) throw error;
		return undefined;
	}
}

function workloadKind(kind: string, plural: string): ResourceKind<Workload> {
	return { group: "apps", version: "v1", kind, plural, namespaced: true };
}
