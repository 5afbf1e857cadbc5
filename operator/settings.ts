import { readSealKey, type SealKey } from "../service/seal-key.ts";
import { SettingError, type Settings } from "../service/settings.ts";

/** What the operator is told by its environment, beside KUBECONFIG, NATS_URL and the health server's address. */
export interface OperatorSettings {
	/** Where senders reach the receivers: what URLs begin with. */
	receiveURL: string;
	/** Image of the Jobs. */
	image: string;
	/** New Sources are spread over this many. */
	shards: number;
	/** Only these namespaces are served; all when absent. */
	watchNamespaces: string[] | undefined;
	leaseNamespace: string;
	/** How long a leader that fell silent keeps its place. It ends itself after two thirds of that without the apiserver. */
	leaseDurationMs: number;
	/** Local mode's directory for DuckDB files. */
	localWarehouse: string | undefined;
	/** For signing secrets on their way to receive; without it no Source can ask for signatures. */
	sealKey: SealKey | undefined;
	/** Addresses that a BigQuery Destination's apiEndpoint may be, without a trailing slash. */
	bigQueryEndpoints: string[];
	/** Replicas of the buckets that the operator makes: 1, or 3 in a NATS cluster. */
	bucketReplicas: number;
}

/** Throws {@link SettingError}. */
export function readOperatorSettings(settings: Settings): OperatorSettings {
	const localWarehouse = settings.optional("TIDEMILL_LOCAL_WAREHOUSE");
	if (localWarehouse && !localWarehouse.startsWith("/"))
		throw new SettingError(
			`TIDEMILL_LOCAL_WAREHOUSE is "${localWarehouse}". It must be an absolute path.`,
		);
	return {
		receiveURL: settings.url("TIDEMILL_RECEIVE_URL"),
		image: settings.text("TIDEMILL_IMAGE"),
		shards: settings.integer("TIDEMILL_SHARDS", {
			min: 1,
			max: 1024,
			fallback: 1,
		}),
		watchNamespaces: listOf(settings.optional("WATCH_NAMESPACES")),
		leaseNamespace: settings.text("LEASE_NAMESPACE", "tidemill-system"),
		leaseDurationMs:
			1000 *
			settings.integer("LEASE_DURATION_SECONDS", {
				min: 3,
				max: 300,
				fallback: 15,
			}),
		localWarehouse,
		bigQueryEndpoints:
			listOf(settings.optional("TIDEMILL_BIGQUERY_ENDPOINTS"))?.map((url) =>
				url.replace(/\/+$/, ""),
			) ?? [],
		sealKey: readSealKey(settings),
		bucketReplicas: settings.integer("STREAM_REPLICAS", {
			min: 1,
			max: 5,
			fallback: 1,
		}),
	};
}

function listOf(text: string | undefined): string[] | undefined {
	return text
		?.split(",")
		.map((item) => item.trim())
		.filter(Boolean);
}
