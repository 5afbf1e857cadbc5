import {
	bucket,
	exportSubject,
	logSubject,
	notifications,
	publicKeysSubject,
	rates,
	refused,
	reloadSubject,
	serverStateSubject,
	sns,
	tailSubject,
	uploadSubject,
} from "../../packages/contracts/nats.ts";

/** The NATS users of Tidemill's roles. People use `admin`. */
export const natsRoles = [
	"receive",
	"archive",
	"operator",
	"api",
	"notify",
] as const;
export type NatsRole = (typeof natsRoles)[number];
/** Each role has a second user, so that the password of one can be replaced while the other is valid. */
export type NatsUser = NatsRole | `${NatsRole}-b` | "admin";

export const natsUsers: readonly NatsUser[] = [
	"admin",
	...natsRoles.flatMap((role) => [role, `${role}-b`] as const),
];

export interface NatsPermissions {
	publish: { allow: string[]; deny?: string[] };
	subscribe: string[];
	/** May answer a request, whatever its reply subject. */
	allowResponses?: boolean;
}

/** To find and inspect streams. */
const lookUp = [
	"$JS.API.INFO",
	"$JS.API.STREAM.NAMES",
	"$JS.API.STREAM.LIST",
	"$JS.API.STREAM.INFO.*",
];

/**
 * What each role may do, and no more, so that a stolen password gives no access to other roles' work. Only the role itself
 * may listen to its inbox (packages/service/nats/connection.ts). Subjects as in ADR-1 (JetStream API) and ADR-8 (KV).
 */
export const natsPermissions: Record<NatsRole, NatsPermissions> = {
	receive: {
		publish: {
			allow: [
				...lookUp,
				serverStateSubject,
				"tidemill.frames.*",
				refused.subject("*", "*"),
				...read(bucket.routes),
				...read(bucket.objectsDone),
				...read(bucket.archives),
				...read(bucket.idempotency),
				`$KV.${bucket.idempotency}.>`,
				sns.certificate,
				sns.confirmation,
				publicKeysSubject,
			],
		},
		subscribe: [inbox("receive")],
	},
	archive: {
		publish: {
			allow: [
				...lookUp,
				serverStateSubject,
				// The frames' stream has a random name, so this names only the verb. The buckets of other roles are denied below.
				"$JS.API.STREAM.*.*",
				"$JS.API.STREAM.MSG.GET.*",
				"$JS.API.CONSUMER.>",
				"$JS.API.DIRECT.GET.>",
				"$JS.FC.>",
				"$JS.ACK.>",
				`$KV.${bucket.objectsDone}.>`,
				`$KV.${bucket.ledger}.>`,
				`$KV.${bucket.archives}.>`,
				`$KV.${bucket.idempotency}.>`,
				"tidemill.archive.*.share",
			],
			deny: [
				"$JS.API.STREAM.DELETE.*",
				...everything(bucket.routes),
				...allButOneEntry(bucket.sourceKeys),
				...everything(bucket.requests),
				...everything(bucket.deliveries),
				...requestsTo(notifications.stream),
				notifications.subject("*"),
			],
		},
		subscribe: [
			inbox("archive"),
			"tidemill.archive.*.manifest",
			"tidemill.archive.*.delete",
			"tidemill.archive.*.result",
			"tidemill.archive.*.release",
			"tidemill.archive.*.erase",
			tailSubject("*"),
			"tidemill.archive.*.events",
			"tidemill.archive.*.retention",
			"tidemill.archive.*.import",
			"tidemill.archive.*.share",
			logSubject,
			exportSubject,
			uploadSubject,
		],
		allowResponses: true,
	},
	operator: {
		publish: {
			allow: [
				...lookUp,
				serverStateSubject,
				reloadSubject("*"),
				"tidemill.archive.*.manifest",
				"tidemill.archive.*.delete",
				"tidemill.archive.*.result",
				"tidemill.archive.*.release",
				"tidemill.archive.*.erase",
				"tidemill.archive.*.retention",
				"tidemill.archive.*.import",
				"tidemill.archive.*.share",
				...own(bucket.routes),
				...own(bucket.sourceKeys),
				...read(bucket.ledger),
				`$JS.API.STREAM.CREATE.${notifications.stream}`,
				notifications.subject("*"),
				...read(bucket.deliveries),
			],
		},
		subscribe: [inbox("operator")],
	},
	api: {
		publish: {
			allow: [
				...lookUp,
				logSubject,
				tailSubject("*"),
				"tidemill.archive.*.events",
				exportSubject,
				uploadSubject,
				...own(bucket.requests),
				`$JS.API.STREAM.CREATE.${rates.stream}`,
				rates.subject("*", "*"),
				`$JS.API.DIRECT.GET.${refused.stream}`,
				// The entries of a Source whose key it knows.
				`$JS.API.DIRECT.GET.KV_${bucket.ledger}.$KV.${bucket.ledger}.>`,
			],
		},
		subscribe: [inbox("api")],
	},
	notify: {
		publish: {
			allow: [
				...lookUp,
				`$JS.API.CONSUMER.CREATE.${notifications.stream}.${notifications.consumer}`,
				`$JS.API.CONSUMER.INFO.${notifications.stream}.${notifications.consumer}`,
				`$JS.API.CONSUMER.MSG.NEXT.${notifications.stream}.${notifications.consumer}`,
				`$JS.ACK.${notifications.stream}.${notifications.consumer}.>`,
				`$JS.API.STREAM.CREATE.KV_${bucket.deliveries}`,
				`$KV.${bucket.deliveries}.>`,
				// To count them.
				`$JS.API.DIRECT.GET.KV_${bucket.deliveries}`,
			],
		},
		subscribe: [
			inbox("notify"),
			sns.certificate,
			sns.confirmation,
			publicKeysSubject,
		],
		allowResponses: true,
	},
};

function inbox(role: NatsRole): string {
	return `_INBOX_${role}.>`;
}

/** To get and watch a bucket's entries. */
function read(name: string): string[] {
	const stream = `KV_${name}`;
	return [
		`$JS.API.STREAM.MSG.GET.${stream}`,
		`$JS.API.DIRECT.GET.${stream}`,
		`$JS.API.DIRECT.GET.${stream}.>`,
		`$JS.API.CONSUMER.*.${stream}`,
		`$JS.API.CONSUMER.*.${stream}.>`,
		`$JS.API.CONSUMER.MSG.NEXT.${stream}.*`,
		`$JS.FC.${stream}.>`,
	];
}

/** To create, write, get and watch a bucket. */
function own(name: string): string[] {
	const stream = `KV_${name}`;
	return [
		...read(name),
		`$JS.API.STREAM.CREATE.${stream}`,
		`$JS.API.STREAM.UPDATE.${stream}`,
		`$JS.API.STREAM.PURGE.${stream}`,
		`$KV.${name}.>`,
	];
}

/** Every JetStream request that names the bucket's stream, and every write to it. */
function everything(name: string): string[] {
	return [...requestsTo(`KV_${name}`), `$KV.${name}.>`];
}

/** {@link everything} but `$JS.API.STREAM.MSG.GET`: the stream's leader answers it, and no server that lags. */
function allButOneEntry(name: string): string[] {
	const leader = `$JS.API.*.*.*.KV_${name}`;
	return everything(name).filter((subject) => subject !== leader);
}

/** Every JetStream request that names the stream. */
function requestsTo(stream: string): string[] {
	return [
		`$JS.API.*.*.${stream}`,
		`$JS.API.*.*.${stream}.>`,
		`$JS.API.*.*.*.${stream}`,
		`$JS.API.*.*.*.${stream}.>`,
	];
}
