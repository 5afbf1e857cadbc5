import {
	bucket,
	changesSubject,
	countsSubject,
	exportSubject,
	logSubject,
	makeSubject,
	namedStreams,
	notifications,
	ownAccountProbe,
	publicKeysSubject,
	rates,
	refused,
	reloadSubject,
	sendAgainSubject,
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
}

/** Where NATS awaits the answers to requests of other accounts: a name that it made up for each. */
export const responses = "_R_.>";

/**
 * What each role may do, and no more, so that a stolen password gives no access to other roles' work. Only the role itself
 * may listen to its inbox (packages/service/nats/connection.ts). Subjects as in ADR-1 (JetStream API) and ADR-8 (KV).
 *
 * Each role but archive has an account of its own, which imports just these subjects (nats-config.ts). NATS gives a request
 * from there a reply subject of its own (`_R_.…`) in the other account, so no answer goes where the asker may not write. Nobody
 * but archive may create or change a stream or a consumer: NATS holds their settings to no permission
 * (docs/decisions/0050-a-nats-account-for-each-role.md).
 */
export const natsPermissions: Record<NatsRole, NatsPermissions> = {
	receive: {
		publish: {
			allow: [
				...lookUp(),
				// The frames' streams have random names.
				"$JS.API.STREAM.NAMES",
				"$JS.API.STREAM.INFO.*",
				serverStateSubject,
				"tidemill.frames.*",
				refused.subjects,
				...read(bucket.routes),
				...read(bucket.objectsDone),
				...read(bucket.archives),
				...read(bucket.idempotency),
				`$KV.${bucket.idempotency}.>`,
				sns.certificate,
				sns.confirmation,
				publicKeysSubject,
				// Answers to the API.
				responses,
			],
			// STREAM.INFO lists the subjects of a stream.
			deny: [
				...[bucket.ledger, bucket.sourceKeys, bucket.requests].map(inspection),
				inspection(bucket.deliveries),
				...[notifications, rates, refused].map(
					({ stream }) => `$JS.API.STREAM.INFO.${stream}`,
				),
			],
		},
		subscribe: [
			inbox("receive"),
			sendAgainSubject,
			changesSubject(bucket.routes, ">"),
			changesSubject(bucket.archives, ">"),
		],
	},
	archive: {
		publish: {
			// In the account that holds the streams. It alone makes and changes them, and so could do whatever they can.
			allow: [
				"$JS.API.>",
				"$JS.FC.>",
				serverStateSubject,
				`$KV.${bucket.objectsDone}.>`,
				`$KV.${bucket.ledger}.>`,
				`$KV.${bucket.archives}.>`,
				`$KV.${bucket.idempotency}.>`,
				"tidemill.archive.*.share",
				// Answers to other accounts, to other archives, and to people.
				responses,
				inbox("archive"),
				"_INBOX.>",
				"_INBOX_admin.>",
			],
			deny: [
				// `tidemill buffer give-up` deletes a shard's stream, whose name is random. Archive may purge it anyway.
				...namedStreams.map((stream) => `$JS.API.STREAM.DELETE.${stream}`),
				...[bucket.routes, bucket.requests, bucket.deliveries].flatMap(entries),
				...entries(bucket.sourceKeys).filter(
					// The stream's leader answers it, and no server that lags.
					(subject) => !subject.startsWith("$JS.API.STREAM.MSG.GET."),
				),
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
			countsSubject,
			exportSubject,
			uploadSubject,
			makeSubject("*"),
		],
	},
	operator: {
		publish: {
			allow: [
				...lookUp(),
				// To see how much waits in the frames' streams, which have random names.
				"$JS.API.STREAM.NAMES",
				"$JS.API.STREAM.INFO.*",
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
				...write(bucket.routes),
				...write(bucket.sourceKeys),
				...read(bucket.ledger),
				makeSubject(notifications.stream),
				notifications.subject("*"),
				...read(bucket.deliveries),
			],
			deny: [
				...[bucket.requests, bucket.idempotency].map(inspection),
				...[rates, refused].map(
					({ stream }) => `$JS.API.STREAM.INFO.${stream}`,
				),
			],
		},
		subscribe: [
			inbox("operator"),
			...[
				bucket.routes,
				bucket.sourceKeys,
				bucket.ledger,
				bucket.deliveries,
			].map((name) => changesSubject(name, ">")),
		],
	},
	api: {
		publish: {
			allow: [
				...lookUp(),
				logSubject,
				countsSubject,
				tailSubject("*"),
				"tidemill.archive.*.events",
				exportSubject,
				uploadSubject,
				sendAgainSubject,
				...write(bucket.requests),
				`$JS.API.STREAM.PURGE.KV_${bucket.requests}`,
				makeSubject(rates.stream),
				rates.subject("*", "*"),
				`$JS.API.DIRECT.GET.${refused.stream}`,
			],
		},
		subscribe: [inbox("api")],
	},
	notify: {
		publish: {
			allow: [
				...lookUp(),
				makeSubject(notifications.consumer),
				`$JS.API.CONSUMER.INFO.${notifications.stream}.${notifications.consumer}`,
				`$JS.API.CONSUMER.MSG.NEXT.${notifications.stream}.${notifications.consumer}`,
				`$JS.ACK.${notifications.stream}.${notifications.consumer}.>`,
				makeSubject(`KV_${bucket.deliveries}`),
				inspection(bucket.deliveries),
				`$KV.${bucket.deliveries}.>`,
				// To count them.
				`$JS.API.DIRECT.GET.KV_${bucket.deliveries}`,
				// Answers to receive.
				responses,
			],
		},
		subscribe: [
			inbox("notify"),
			sns.certificate,
			sns.confirmation,
			publicKeysSubject,
		],
	},
};

/** The client's, which asks what the server can do, and the probe of packages/streams/own-account.ts. */
function lookUp(): string[] {
	return ["$JS.API.INFO", ownAccountProbe];
}

export function inbox(role: NatsRole): string {
	return `_INBOX_${role}.>`;
}

function inspection(name: string): string {
	return `$JS.API.STREAM.INFO.KV_${name}`;
}

/** To get a bucket's entries. */
function read(name: string): string[] {
	const stream = `KV_${name}`;
	return [
		inspection(name),
		`$JS.API.STREAM.MSG.GET.${stream}`,
		`$JS.API.DIRECT.GET.${stream}`,
		`$JS.API.DIRECT.GET.${stream}.>`,
	];
}

/** To have a bucket made, to write it and to get its entries. */
function write(name: string): string[] {
	return [...read(name), makeSubject(`KV_${name}`), `$KV.${name}.>`];
}

/** To get or write a bucket's entries. */
function entries(name: string): string[] {
	return [...read(name).slice(1), `$KV.${name}.>`];
}
