/** What decides whether the tests may use a cluster that isn't theirs. */
export interface GivenCluster {
	namespaces: Named[];
	customResourceDefinitions: Named[];
	storageClasses: Named[];
	/** Of all namespaces. */
	deployments: Named[];
}

interface Named {
	metadata: {
		name: string;
		namespace?: string;
		labels?: Record<string, string>;
		annotations?: Record<string, string>;
	};
}

/** A Pod, as far as it says whether its image is there. */
export interface TriedPod {
	status: {
		phase?: string;
		containerStatuses?: {
			state: { waiting?: { reason?: string; message?: string } };
		}[];
	};
}

/** The namespaces that the tests fill and remove. */
export const namespaces = ["tidemill-system", "shop"];

/** On a namespace that the tests have made, so that they may remove it. */
export const ownLabel = "tidemill.dev/e2e";

const isDefault = "storageclass.kubernetes.io/is-default-class";

/** Why the tests keep away from this cluster, and what to do about it; undefined if they may use it. */
export function reasonAgainst(cluster: GivenCluster): string | undefined {
	const found = cluster.namespaces.filter(({ metadata }) =>
		namespaces.includes(metadata.name),
	);
	const foreign = found
		.filter(({ metadata }) => metadata.labels?.[ownLabel] !== "true")
		.map(({ metadata }) => metadata.name);
	if (foreign.length > 0)
		return `it has the namespace ${foreign.join(" and ")}, which the tests would empty. If nothing in there is needed: kubectl label namespace ${foreign.join(" ")} ${ownLabel}=true`;
	const isInstalled = cluster.customResourceDefinitions.some(({ metadata }) =>
		metadata.name.endsWith(".tidemill.dev"),
	);
	if (isInstalled && found.length === 0)
		return "Tidemill is installed in it, and the tests would replace its CustomResourceDefinitions. Use a cluster without Tidemill.";
	const elsewhere = cluster.deployments.find(
		({ metadata: { namespace, labels } }) =>
			labels?.["app.kubernetes.io/part-of"] === "tidemill" &&
			!namespaces.includes(namespace!),
	);
	if (elsewhere)
		return `Tidemill is installed in its namespace ${elsewhere.metadata.namespace}, and the tests would delete its CustomResourceDefinitions with all that they define. Use a cluster without Tidemill.`;
	const hasStorage = cluster.storageClasses.some(
		({ metadata }) => metadata.annotations?.[isDefault] === "true",
	);
	if (!hasStorage)
		return `it has no default StorageClass, which the volumes of NATS, of the bundled store and of a Destination need. Choose one: kubectl annotate storageclass <name> ${isDefault}=true`;
	return undefined;
}

/** Whether the image has started in a Pod, and if it can't, why and what to do about it; undefined while that is open. */
export function imageStart(
	{ status }: TriedPod,
	image: string,
): "started" | { problem: string } | undefined {
	if (status.phase === "Succeeded") return "started";
	if (status.phase === "Failed")
		return {
			problem: `${image} starts, and fails. Is it an image of Tidemill, built for this processor by \`make image\`?`,
		};
	const waiting = status.containerStatuses?.[0]?.state.waiting;
	if (!waiting?.reason?.match(/^(ErrImage|ImagePull|InvalidImage)/))
		return undefined;
	return {
		problem: `its nodes can't get the image ${image} (${waiting.reason}: ${waiting.message}). Build it with \`make image IMAGE=<name>\`, push it to a registry that the nodes reach, and name it in TIDEMILL_E2E_IMAGE; or load it on each node (\`kind load docker-image\`, \`ctr --namespace k8s.io images import\`).`,
	};
}
