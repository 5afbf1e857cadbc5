import type {
	Destination,
	Pipeline,
	Source,
} from "../../crds/generated/types.ts";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import { hasReason, unless } from "../../packages/kube/client/errors.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import type { KubeObject } from "../../packages/kube/resource.ts";

/** What a manifest names and a backup doesn't hold: a secret, rights of a cloud, what a volume has, or what its writer may not read. */
export interface Needed {
	kind: keyof typeof neededKinds | "Bucket";
	/** Empty of what no namespace has. */
	namespace: string;
	name: string;
	/** What for, such as `source/shop`. */
	use: string;
}

/** An object of a kind that is kept. */
export type KeptObject = KubeObject & {
	metadata: { namespace: string };
	spec?: object;
};

/** What the objects name, by what isn't there: nobody has to have the Secret of notifications. */
export async function neededBy(
	client: KubeClient,
	objects: readonly KeptObject[],
): Promise<Needed[]> {
	const secrets = await import("../../operator/reconcile/secret-names.ts");
	const all = objects.flatMap((object) => {
		const { namespace, name } = object.metadata;
		const use = `${object.kind!.toLowerCase()}/${name}`;
		const of = (kind: Needed["kind"], names: (string | undefined)[]) =>
			names.flatMap((name) => (name ? { kind, namespace, name, use } : []));
		const named = (objects: { name: string }[] = []) =>
			objects.map(({ name }) => name);
		if (object.kind === "Source")
			return of("Secret", named(secrets.secretsOfSource(object as Source)));
		if (object.kind === "Pipeline") {
			const pipeline = object as Pipeline;
			return of("Secret", [
				...named(secrets.webhookSecrets(pipeline)),
				...named(pipeline.spec.runTemplate?.imagePullSecrets),
			]);
		}
		if (object.kind !== "Destination") return [];
		const destination = object as Destination;
		const { checkTemplate, serviceAccountName, duckDB } = destination.spec;
		return [
			...of("Secret", [
				...named(secrets.credentialSecrets(destination)),
				...named(checkTemplate?.imagePullSecrets),
			]),
			...of("ServiceAccount", [serviceAccountName]),
			...of("PersistentVolumeClaim", [duckDB?.volumeClaimName]),
		];
	});
	const needed: Needed[] = [];
	for (const one of merged(all)) {
		const isByDefault = one.name === secrets.defaultWebhookSecret;
		if (!isByDefault || (await stateOf(client, one)) !== "Missing")
			needed.push(one);
	}
	return needed;
}

const neededKinds = {
	Namespace: kinds.namespace,
	ConfigMap: kinds.configMap,
	Secret: kinds.secret,
	ServiceAccount: kinds.serviceAccount,
	PersistentVolumeClaim: kinds.persistentVolumeClaim,
};

/** Whether it is in the cluster: `Unseen` of a bucket, and of what the person may not read. */
export async function stateOf(
	client: KubeClient,
	{ kind, namespace, name }: Needed,
): Promise<"There" | "Missing" | "Unseen"> {
	if (kind === "Bucket") return "Unseen";
	// So that no Secret's values come.
	const metadataOnly = true;
	try {
		const found = await client.get<KubeObject>(
			neededKinds[kind],
			name,
			namespace,
			{ metadataOnly },
		);
		return found ? "There" : "Missing";
	} catch (error) {
		if (hasReason(error, "Forbidden")) return "Unseen";
		throw error;
	}
}

/** Once each, with all that it is for. */
export function merged(needed: readonly Needed[]): Needed[] {
	const byName = Map.groupBy(
		needed,
		({ kind, namespace, name }) => `${kind} ${namespace}/${name}`,
	);
	return [...byName]
		.sort(([a], [b]) => (a < b ? -1 : 1))
		.map(([, same]) => ({
			...same[0]!,
			use: [...new Set(same.flatMap(({ use }) => use.split(", ")))].join(", "),
		}));
}

/** Where each installation's events are, for who may read its Deployments. */
export async function readBuckets(client: KubeClient): Promise<Needed[]> {
	const list = client.list(kinds.deployment, {
		labelSelector:
			"app.kubernetes.io/part-of=tidemill,app.kubernetes.io/component=archive",
	});
	const { items } = (await unless(list, "Forbidden")) ?? { items: [] };
	return merged(
		items.flatMap(({ metadata, spec }) => {
			const env = spec?.template.spec?.containers[0]?.env ?? [];
			const settingOf = (name: string) =>
				env.find((variable) => variable.name === name)?.value;
			const bucket = settingOf("S3_BUCKET");
			if (!bucket) return [];
			const release = metadata.labels?.["app.kubernetes.io/instance"];
			return {
				kind: "Bucket",
				namespace: "",
				name: [bucket, settingOf("S3_PREFIX")].filter(Boolean).join("/"),
				use: `shards ${settingOf("ARCHIVE_SHARDS")} of the release ${release} in ${metadata.namespace}`,
			} as const;
		}),
	);
}
