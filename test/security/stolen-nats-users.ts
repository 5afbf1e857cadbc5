import {
	bucket,
	changesSubject,
	countsSubject,
	deletionSubject,
	erasureSubject,
	eventsSubject,
	exportSubject,
	framesSubject,
	importSubject,
	logSubject,
	manifestSubject,
	notifications,
	publicKeysSubject,
	rates,
	refused,
	reloadSubject,
	retentionSubject,
	sendAgainSubject,
	sns,
	streamName,
	tailSubject,
	uploadSubject,
} from "../../packages/contracts/nats.ts";
import type { Stolen } from "./page.ts";

const frames = streamName(0, "0123456789abcdef");
const route = `$KV.${bucket.routes}.victim`;
const kv = (name: string) => `$KV.${name}.victim`;
const read = (name: string) =>
	`$JS.API.DIRECT.GET.KV_${name}.$KV.${name}.victim`;
const purge = (name: string) => `$JS.API.STREAM.PURGE.${name}`;
const readFrames = `$JS.API.STREAM.MSG.GET.${frames}`;
const order = `$JS.API.CONSUMER.MSG.NEXT.${notifications.stream}.${notifications.consumer}`;

export const sealed =
	"packages/service/seal-key.test.ts > a sealed secret opens only with the same key for the same purpose";

/** Who has the password of a NATS user: the part of the table that is tried on the real nats-server. */
export const stolenNatsUsers: Record<string, Stolen> = {
	"NATS user receive": {
		user: "receive",
		can: [
			["forge events of every account", { sends: framesSubject(0) }],
			["drop senders' idempotency keys", { sends: kv(bucket.idempotency) }],
			[
				"of which only digests are stored",
				"ingest/receive/body/sender-key.test.ts > a key is a digest of the Source and the sender's value",
			],
			["confirm subscriptions of Amazon SNS", { sends: sns.confirmation }],
			["have notify GET any public URL", { sends: publicKeysSubject }],
			[
				"read the events that people send again, and say what became of them",
				{ hears: sendAgainSubject },
			],
		],
		cannot: [
			[
				"read stored events",
				{ sends: readFrames },
				{ sends: eventsSubject(0) },
			],
			["change routes", { sends: route }],
			["purge a stream", { sends: purge(frames) }],
		],
	},
	"NATS user archive": {
		user: "archive",
		can: [
			[
				"read, purge and delete events that aren't in the bucket yet",
				{ sends: readFrames },
				{ sends: purge(frames) },
				{ sends: `$JS.API.STREAM.DELETE.${frames}` },
			],
			["answer Runs with other data", { hears: manifestSubject("*") }],
			[
				"by the settings of a stream, whatever the account tidemill holds: read and change routes, forge events and requests",
				"test/data-plane/nats-accounts.all.test.ts > %s: of all settings, those pass that docs/security.md names",
				{ sends: `$JS.API.STREAM.UPDATE.${frames}` },
			],
		],
		cannot: [
			["read the bucket", { byTheirs: "the store, which knows no NATS user" }],
			["reload NATS", { sends: reloadSubject("0") }],
			["open sealed secrets", sealed],
		],
	},
	"NATS user operator": {
		user: "operator",
		can: [
			["open, close or redirect each URL", { sends: route }],
			["get links to each account's events", { sends: manifestSubject(0) }],
			[
				"add to, keep, erase or delete a Source's events",
				{ sends: importSubject(0) },
				{ sends: retentionSubject(0) },
				{ sends: erasureSubject(0) },
				{ sends: deletionSubject(0) },
			],
		],
		cannot: [
			["read Secrets", { byTheirs: "Kubernetes, which knows no NATS user" }],
			["open sealed secrets", sealed],
		],
	},
	"NATS user api": {
		user: "api",
		can: [
			["reset rate limits", { sends: rates.subject(1, "victim") }],
			[
				"end sessions of the console, or bring back those that were ended, for who has their cookies; take or drop Idempotency-Keys",
				{ sends: kv(bucket.requests) },
				{ sends: purge(`KV_${bucket.requests}`) },
			],
			["read the log of a Job whose Run's uid it knows", { sends: logSubject }],
			[
				"and the files of an Export whose uid it knows",
				{ sends: exportSubject },
			],
			[
				"upload files for any account, which no Import names",
				{ sends: uploadSubject },
			],
			[
				"read all accounts' refused requests of the last hours",
				{ sends: `$JS.API.DIRECT.GET.${refused.stream}` },
			],
			[
				"read and follow the events of a Source whose source key it knows",
				{ sends: eventsSubject(0) },
				{ sends: tailSubject(0) },
			],
			["and its counts", { sends: countsSubject }],
			[
				"and forge its events, whatever the Source asks of senders",
				{ sends: sendAgainSubject },
			],
		],
		cannot: [
			[
				"read other events or routes",
				{ sends: readFrames },
				{ sends: manifestSubject(0) },
				{ sends: read(bucket.routes) },
				{ sends: read(bucket.ledger) },
				{ hears: changesSubject(bucket.routes, ">") },
			],
		],
	},
	"NATS user notify, or the process": {
		user: "notify",
		can: [
			["take and drop notifications", { sends: order }],
			["and say that they were delivered", { sends: kv(bucket.deliveries) }],
			[
				"with the seal key, call the webhooks",
				"test/data-plane/notifications.laptop.test.ts > a webhook is told what happened, signed, and the operator learns that it was",
			],
			[
				"answer receive with another certificate or public key, and so forge messages of SNS, and of Sources whose keys are at a URL, where it knows the Source's URL",
				{ hears: sns.certificate },
				{ hears: publicKeysSubject },
			],
		],
		cannot: [
			[
				"read routes, events or other orders than the queue's",
				{ sends: read(bucket.routes) },
				{ sends: readFrames },
				{ sends: eventsSubject(0) },
				{ sends: `$JS.API.STREAM.MSG.GET.${notifications.stream}` },
				{ hears: notifications.subject("*") },
			],
			[
				"use the seal key on what it can't read",
				{ sends: read(bucket.routes) },
				{ hears: changesSubject(bucket.routes, ">") },
			],
		],
	},
};
