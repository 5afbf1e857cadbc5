import { forever, retainedDays } from "../packages/contracts/retention.ts";
import { networkList } from "../packages/service/address.ts";
import type { Logger } from "../packages/service/log.ts";
import {
	readSealKeys,
	type SealKeyRing,
} from "../packages/service/seal-key.ts";
import { SettingError, type Settings } from "../packages/service/settings.ts";
import { warehouses } from "../packages/warehouses/registry.ts";
import {
	type AllowedEndpoints,
	hostsSetting,
} from "./destination/warehouse.ts";
import type { JobLimits } from "./jobs/slots.ts";
import type { PodPolicy } from "./reconcile/context.ts";

/** The operator's settings, beside KUBECONFIG, NATS_URL and the health server's address. */
export interface OperatorSettings {
	/** Where senders reach the receivers. Webhook URLs begin with it. */
	receiveURL: string;
	/** A Source's status follows what archive says of its events at most this often. */
	sourceStatusIntervalMs: number;
	/** The longest time for which a Source may keep its events, in days; 0 for ever. */
	maxRetentionDays: number;
	/** Image of the Jobs. */
	image: string;
	/** New Sources are spread over this many shards. */
	shards: number;
	/** The namespaces that the operator serves; all if undefined. */
	watchNamespaces: string[] | undefined;
	/** The ClusterRole that a RoleBinding in each of them gives the operator. */
	namespaceRole: string;
	leaseNamespace: string;
	/** The addresses of a NATS and a bucket that no other installation of the cluster may have. */
	exclusiveStores: string[];
	/** Name of the Lease, of which each installation in a namespace has its own. */
	leaseName: string;
	/** The operator's own Deployment, in {@link leaseNamespace}. */
	deployment: string | undefined;
	/** How long a silent leader keeps the lease. Without the apiserver it exits after two thirds of that. */
	leaseDurationMs: number;
	/** Local mode's directory for warehouses that are files. */
	localWarehouse: string | undefined;
	/** How the names of the cluster's Services end. */
	clusterDomain: string;
	/** Its own networks, where a name of elsewhere leads no Job. */
	clusterNetworks: readonly string[];
	/** Seals signing secrets for receive. Without it no Source can require signatures. */
	sealKey: SealKeyRing | undefined;
	allowedEndpoints: AllowedEndpoints;
	/** What people may choose about the Pods of Jobs. */
	podPolicy: PodPolicy;
	/** How many Jobs of Runs and checks there may be at once. */
	jobLimits: JobLimits;
	/** How often NATS's servers read their certificates anew; undefined for never. */
	natsReloadIntervalMs: number | undefined;
	/** The collector of Jobs' traces. A Job is in its account's namespace, so none that needs credentials. */
	traceEndpoint: string | undefined;
	/** Replicas of the operator's buckets: 1, or 3 in a NATS cluster. */
	bucketReplicas: number;
}

/** Throws {@link SettingError}. */
export function readOperatorSettings(
	settings: Settings,
	log: Logger,
): OperatorSettings {
	const localWarehouse = settings.optional("TIDEMILL_LOCAL_WAREHOUSE");
	if (localWarehouse && !localWarehouse.startsWith("/"))
		throw new SettingError(
			`TIDEMILL_LOCAL_WAREHOUSE is "${localWarehouse}". It must be an absolute path.`,
		);
	const natsReloadSeconds = settings.integer(
		"NATS_RELOAD_SECONDS",
		[0, 86_400],
		0,
	);
	return {
		natsReloadIntervalMs: natsReloadSeconds * 1000 || undefined,
		receiveURL: settings.url("TIDEMILL_RECEIVE_URL"),
		sourceStatusIntervalMs:
			1000 * settings.integer("SOURCE_STATUS_SECONDS", [1, 3_600], 10),
		maxRetentionDays: maxRetentionDaysOf(settings),
		image: settings.text("TIDEMILL_IMAGE"),
		shards: settings.shards(),
		watchNamespaces: watchNamespacesOf(settings),
		namespaceRole: settings.text(
			"NAMESPACE_ROLE",
			"tidemill-operator-in-namespace",
		),
		leaseNamespace: settings.text("LEASE_NAMESPACE", "tidemill-system"),
		exclusiveStores: exclusiveStoresOf(settings),
		leaseName: settings.text("LEASE_NAME", "tidemill-operator"),
		deployment: settings.optional("OPERATOR_DEPLOYMENT"),
		leaseDurationMs:
			1000 * settings.integer("LEASE_DURATION_SECONDS", [3, 300], 15),
		localWarehouse,
		clusterDomain: settings.text("CLUSTER_DOMAIN", "cluster.local"),
		clusterNetworks: clusterNetworksOf(settings),
		allowedEndpoints: allowedEndpointsOf(settings),
		podPolicy: {
			labels: settings.list("TIDEMILL_JOB_LABELS") ?? [],
			annotations: settings.list("TIDEMILL_JOB_ANNOTATIONS") ?? [],
			priorityClasses: settings.list("TIDEMILL_JOB_PRIORITY_CLASSES") ?? [],
		},
		sealKey: readSealKeys(settings, log),
		jobLimits: {
			overall: settings.integer("MAX_JOBS", [1, 100_000], 200),
			perNamespace: settings.integer(
				"MAX_JOBS_PER_NAMESPACE",
				[1, 100_000],
				20,
			),
		},
		traceEndpoint:
			settings.optional("OTEL_EXPORTER_OTLP_HEADERS") === undefined
				? settings.optional("OTEL_EXPORTER_OTLP_ENDPOINT")
				: undefined,
		bucketReplicas: settings.replicas(),
	};
}

function allowedEndpointsOf(settings: Settings): AllowedEndpoints {
	const names = [...warehouses.values()].flatMap(
		({ endpoints }) => endpoints?.setting ?? [],
	);
	const hosts = settings.list(hostsSetting);
	return {
		...Object.fromEntries(
			names.map((name) => [
				name,
				(settings.list(name) ?? []).map((url) => url.replace(/\/+$/, "")),
			]),
		),
		...(hosts && { [hostsSetting]: hosts }),
	};
}

/** None where the administrator has said which hosts a Job reaches, wherever these are. */
function clusterNetworksOf(settings: Settings): string[] {
	const networks = settings.list("CLUSTER_NETWORKS") ?? [];
	try {
		networkList(networks);
	} catch {
		throw new SettingError(
			`CLUSTER_NETWORKS is "${networks.join(",")}". It must be networks separated by commas, such as 10.42.0.0/16,fd42::/48.`,
		);
	}
	return settings.list(hostsSetting) ? [] : networks;
}

function maxRetentionDaysOf(settings: Settings): number {
	const days = settings.integer("MAX_RETENTION_DAYS", [0, 36_500], 400);
	if (days !== forever && days < retainedDays)
		throw new SettingError(
			`MAX_RETENTION_DAYS is ${days}. It must be at least ${retainedDays}, or 0 for no limit.`,
		);
	return days;
}

/** Undefined for all, which needs a permission for all, so nobody gets it by leaving something out. */
function watchNamespacesOf(settings: Settings): string[] | undefined {
	const text = settings.text("WATCH_NAMESPACES");
	if (text === "*") return undefined;
	const namespaces = settings.list("WATCH_NAMESPACES")!;
	if (namespaces.length === 0 || namespaces.includes("*"))
		throw new SettingError(
			`WATCH_NAMESPACES is "${text}". It must be namespaces separated by commas, or * for all.`,
		);
	return namespaces;
}

function exclusiveStoresOf(settings: Settings): string[] {
	const addresses = settings.list("EXCLUSIVE_STORES") ?? [];
	for (const address of addresses)
		if (!/^[a-z][a-z0-9+]*:\/\/[^@]+$/.test(address))
			throw new SettingError(
				`EXCLUSIVE_STORES has "${address.replace(/.*@/, "…@")}". It must have addresses without credentials, such as nats://nats.example.com:4222, separated by commas.`,
			);
	return addresses;
}
