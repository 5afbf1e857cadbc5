/** Labels that Tidemill reads or writes. */
export const label = {
	/** `"true"` on a Secret: Tidemill may use it for resources of its namespace. People set it; so does the operator on Secrets it issues. */
	use: "tidemill.dev/use",
	/** On a Secret that the operator issued: the Source whose keys it holds. */
	issuedFor: "tidemill.dev/issued-for",
	/** On Jobs, Pods and Secrets: what they are made for. */
	pipeline: "tidemill.dev/pipeline",
	run: "tidemill.dev/run",
	destination: "tidemill.dev/destination",
	/** On a Run's Job and Pods: digest of the warehouse that they write to, for one at a time. */
	warehouse: "tidemill.dev/warehouse",
	managedBy: "app.kubernetes.io/managed-by",
} as const;

/** On every child, so that the operator watches no other's Jobs. */
export const managedByTidemill = { [label.managedBy]: "tidemill" } as const;

/** Who the operator is in metadata.managedFields. */
export const fieldManager = "tidemill-operator";

/** Holds up a deletion until the operator has removed what no owner reference removes. */
export const finalizer = "tidemill.dev/cleanup";

/** Annotations that Tidemill reads or writes. */
export const annotation = {
	/** On a Run: what made it, a value of `status.trigger`. Absent when a person did. */
	trigger: "tidemill.dev/trigger",
	/**
	 * On a Source: each new value gives its URL a new url key, once. On the Secret with the keys: the value for which the
	 * url key was made.
	 */
	rotateURL: "tidemill.dev/rotate-url",
	/** On what the REST API has made for a request with an Idempotency-Key: which request that was. */
	request: "tidemill.dev/request",
} as const;
