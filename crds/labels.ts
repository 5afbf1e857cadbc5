/** Labels that Tidemill reads or writes. */
export const label = {
	/**
	 * `"true"` on a Secret, ConfigMap, PersistentVolumeClaim or ServiceAccount: Tidemill may use it for resources of its namespace. People
	 * set it, and the operator does on Secrets that it issues.
	 */
	use: "tidemill.dev/use",
	/** On a Secret that the operator issued: the Source whose keys it holds. */
	issuedFor: "tidemill.dev/issued-for",
	/** On Jobs, Pods and Secrets: what they belong to. */
	pipeline: "tidemill.dev/pipeline",
	run: "tidemill.dev/run",
	operation: "tidemill.dev/operation",
	destination: "tidemill.dev/destination",
	/** On a Run's Job and Pods: a digest of the warehouse that they write to, so that only one does at a time. */
	warehouse: "tidemill.dev/warehouse",
	/** On a Run's Job and Pods: the extent of the manifest that they load. */
	extent: "tidemill.dev/extent",
	/** On the ServiceAccount and the RoleBinding of a token that the REST API made: the token's scope. */
	token: "tidemill.dev/token",
	managedBy: "app.kubernetes.io/managed-by",
} as const;

/** On every child, so that the operator watches no other Jobs. */
export const managedByTidemill = { [label.managedBy]: "tidemill" } as const;

/** On Secrets that the REST API makes of secrets in requests. The operator owns them from then on. */
export const managedByApi = { [label.managedBy]: "tidemill-api" } as const;

/** Of what belongs to the tokens that the command line makes for itself: an empty Secret that owns a ServiceAccount, and its RoleBinding. */
export const ownTokenName = /^tidemill-token-cli-[0-9a-f]{10}$/;

/** The operator's name in metadata.managedFields. */
export const fieldManager = "tidemill-operator";

/** Delays a deletion until the operator has removed what no owner reference removes. */
export const finalizer = "tidemill.dev/cleanup";

/** Delays the deletion of what other resources name, as Kubernetes' own delays that of a volume claim that a Pod uses. */
export const inUseFinalizer = "tidemill.dev/in-use";

/** Annotations that Tidemill reads or writes. */
export const annotation = {
	/** On a Run of the schedule: `Schedule`. */
	trigger: "tidemill.dev/trigger",
	/**
	 * On a Source: each new value replaces the url key once. On the Secret with the keys: the value that the url key was
	 * made for.
	 */
	rotateURL: "tidemill.dev/rotate-url",
	/** On a Destination: each new value asks for one more check. */
	check: "tidemill.dev/check",
	/** On a Secret: where its credentials may go ({@link file://../packages/warehouses/definition/binding.ts}). */
	hosts: "tidemill.dev/hosts",
	/** On the RoleBinding of a token: when the token expires, RFC 3339. */
	tokenExpires: "tidemill.dev/token-expires",
	/** On the operator's Lease: what the installation claims for itself ({@link file://./installation-claims.ts}). */
	claims: "tidemill.dev/claims",
	/** On the operator's Lease: `shared` while its user is in the account of NATS that holds the streams. */
	natsAccount: "tidemill.dev/nats-account",
	/**
	 * On the operator's Lease: why each shard stops events or Runs, JSON by its number: `BufferFull`, `ArchiveFails` or the alarm of
	 * archive. Absent while none does.
	 */
	stoppedShards: "tidemill.dev/stopped-shards",
	/**
	 * On the operator's Lease: `awaited` while NATS has the routes of another cluster, and the operator removes none; a person sets it to
	 * `complete` by `tidemill restore --complete`.
	 */
	restore: "tidemill.dev/restore",
	/** On a Run, and on what the REST API created for a request with an Idempotency-Key: the request. */
	request: "tidemill.dev/request",
} as const;
