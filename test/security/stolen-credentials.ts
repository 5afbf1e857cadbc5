import type { Stolen } from "./page.ts";
import { sealed, stolenNatsUsers } from "./stolen-nats-users.ts";

const mayDo =
	"test/control-plane/tenancy/roles-table.all.test.ts > %s may do what docs/reference/rights.md says";
const elsewhere =
	"test/control-plane/tenancy/roles-table.all.test.ts > %s may do nothing in another account";
const beside =
	"test/control-plane/tenancy/role-metadata.all.test.ts > writes none of what is Tidemill's or too large on %s";
const scopes =
	"test/control-plane/tenancy/tokens.laptop.test.ts > a token of each scope may do what its scope says, at once, and no more";
const handsOut =
	"test/control-plane/tenancy/tokens.laptop.test.ts > who hands out tokens gets none of another ServiceAccount, removes none, and binds nobody else";
const noIdentity =
	"test/control-plane/tenancy/reserved-names.laptop.test.ts > who hands out tokens gives a ServiceAccount no identity of a cloud, no Secrets, and nothing that removes or keeps it";
const receives =
	"test/data-plane/receive.laptop.test.ts > the answer has the event's id, and the event is stored with its bytes and its time of receipt";
const withToken =
	"test/data-plane/receive.laptop.test.ts > a source with a token accepts the token in each of its places, and nothing without it";
const onlyPost =
	"test/data-plane/receive.laptop.test.ts > any method but POST is refused";
const otherUrls =
	"test/data-plane/receive.laptop.test.ts > an unknown source key, a wrong url key and a wrong path are 404";
const signedBytes =
	"test/data-plane/receive.laptop.test.ts > a source with signatures accepts only bodies whose exact bytes are signed";
const cookieEnds =
	"api/console/ended-sessions.test.ts > a copied cookie opens nothing at any replica once its visitor has signed out; another session goes on";
const digests =
	"ingest/receive/request/route-table.test.ts > who reads the routes can't try out tokens: a digest is compared under the seal key, and without it nothing is accepted";

/** By the first cell of the table in docs/reference/rights.md, without code and links. */
export const stolen: Record<string, Stolen> = {
	...stolenNatsUsers,
	"a webhook URL": {
		can: [
			["store events in that Source", receives],
			["if it has no authorization", withToken],
		],
		cannot: [
			["read events", onlyPost],
			["or know other Sources", otherUrls],
		],
	},
	"the URL of a Source with a computed answer (compute)": {
		can: [
			[
				"have its secret sign 1 to 128 characters of A-Z a-z 0-9 _ -",
				"ingest/receive/request/url-challenge.test.ts > never signs what could be an event: %j",
			],
		],
		cannot: [
			[
				"have an event signed: a body like that is no event of the Source",
				"test/data-plane/receive.laptop.test.ts > nobody gets the signature of an event as the answer to a challenge, and no event looks like a challenge",
			],
			[
				"and signedString holds the body. Another Source with the same secret isn't safe so",
				"test/protocols/computed-answers.test.ts > if a digest were signed instead of the body, an answer could be the signature of any event, so admission refuses that",
			],
		],
	},
	"a sender's token or signing secret, with the URL": {
		can: [["store events in that Source", withToken, signedBytes]],
		cannot: [["the same", onlyPost, otherUrls]],
	},
	"a recorded signed request": {
		can: [
			[
				"send it again: for toleranceSeconds if the scheme signs the time",
				"ingest/receive/request/signature-check.test.ts > a signed time may differ from now by the tolerance, in either direction",
			],
			[
				"without end for GitHub, Shopify, Meta and Twilio, which don't, and for SNS, whose time doesn't count",
				"ingest/receive/body/sender-key.test.ts > a recorded request has the same key, however its signature is written and whatever its other headers say",
			],
		],
		cannot: [
			["change it", signedBytes],
			[
				"unless the Source's Ready says that its signatures don't cover the body, and except for a form of Twilio's: Twilio signs names and values without anything between them, so Body=hi&From=1 and BodyhiFrom1= have one signature",
				"test/protocols/custom-signatures.test.ts > what a signature in the body doesn't cover can be changed, and nothing else",
			],
		],
	},
	"a viewer's token (tidemill-viewer)": {
		can: [
			[
				"read all of Tidemill's resources in one account, webhook URLs among them, and which events came",
				mayDo,
			],
			[
				"and which requests were refused",
				"test/control-plane/tenancy/refused-requests.laptop.test.ts > a viewer sees refusals without what bodies hold, newest first",
			],
		],
		cannot: [
			[
				"read bodies of events",
				"test/control-plane/tenancy/stored-events.laptop.test.ts > a body needs a right of its own",
			],
			["Secrets or logs, or change anything", mayDo],
		],
	},
	"a runner's token (tidemill-runner)": {
		can: [
			["see Pipelines and start, read and cancel Runs", mayDo],
			["of one account", elsewhere],
		],
		cannot: [
			["read Sources, and so URLs", mayDo],
			["have a Run removed or kept, or say more of it", beside],
		],
	},
	"an editor's token (tidemill-editor)": {
		can: [
			["change all of Tidemill's resources in one account", mayDo],
			[
				"so read its events",
				"test/control-plane/tenancy/stored-events.laptop.test.ts > a body needs a right of its own",
			],
			[
				"or send them to a Destination of the thief's, and delete Sources with their events",
				mayDo,
			],
		],
		cannot: [
			["read a Secret", mayDo],
			[
				"use one without the label",
				"test/control-plane/tenancy/borrowed-objects.laptop.test.ts > a Destination can't use another application's %s without the label; with it, it can, and without it again no longer",
			],
			[
				"become another ServiceAccount",
				"test/control-plane/tenancy/secrets.laptop.test.ts > an editor doesn't get a token of another ServiceAccount by a Secret that asks for one",
			],
			["reach another account", elsewhere],
		],
	},
	"the 15-minute token that a command made for itself (tidemill-token-cli-…)": {
		can: [
			[
				"what an editor's token gives, or a viewer's for who has no more, until it expires",
				"test/control-plane/cli-identity.all.test.ts > a certificate becomes a token of 15 minutes with the editor's role, which goes with it",
				"test/control-plane/cli-identity.all.test.ts > who has the viewer's rights alone gets a token with these, and the editor's as long as they have those",
			],
		],
		cannot: [["the same, and get another token", mayDo, scopes]],
	},
	"an eraser's token (tidemill-eraser)": {
		can: [
			[
				"erase any events of one account for good, in the bucket and in tables",
				"test/control-plane/tenancy/erase.laptop.test.ts > an eraser creates an Erase, and no other Operation",
			],
			["see Sources, with their URLs, Pipelines and Runs", mayDo],
		],
		cannot: [
			["read events or Secrets, change anything else", mayDo],
			["have somebody's Erase removed or kept", beside],
			["reach another account", elsewhere],
		],
	},
	"a log reader's token (tidemill-log-reader)": {
		can: [
			[
				"read the specs and logs of all Pods of one namespace, other applications' too",
				mayDo,
			],
		],
		cannot: [["read Secrets or Tidemill's resources", mayDo]],
	},
	"a token admin's token (tidemill-admin)": {
		can: [
			[
				"make tokens that read, run and edit in one account, and revoke those; with one of these, all that an editor's can",
				scopes,
				"test/control-plane/tenancy/tokens.laptop.test.ts > a token is shown once, stands in no record, and is refused once it is revoked",
			],
			[
				"use a role in a cloud that trusts every ServiceAccount of the namespace, so name those that it trusts",
				{ byTheirs: "the cloud" },
			],
		],
		cannot: [
			["get a token of another ServiceAccount", handsOut],
			["give one an identity in a cloud or Secrets", noIdentity],
			["bind another role", handsOut],
			["reach another account", elsewhere],
		],
	},
	"a Run's manifest or links": {
		can: [
			[
				"read that Run's objects until the links expire",
				"test/data-plane/load-from-s3.all.test.ts > a load needs presigned links and nothing else",
				"test/data-plane/archive-manifests.laptop.test.ts > links work for as long as the Run may take, the manifest's own too",
			],
			[
				"store a result for the Run, which counts only if its Pod is gone",
				"test/data-plane/archive-manifests.laptop.test.ts > the operator learns what a Job writes under its link, and the link takes nothing longer",
			],
		],
		cannot: [
			[
				"list the bucket, read or write other objects",
				{ byTheirs: "S3's signatures" },
			],
		],
	},
	"a Destination's key": {
		can: [
			[
				"what Google's IAM gives that service account",
				{ byTheirs: "Google's IAM" },
			],
		],
	},
	"a Destination's password": {
		can: [
			[
				"what the warehouse gives that user, from wherever its network lets one in",
				{ byTheirs: "the warehouse" },
			],
		],
	},
	"the operator's token": {
		can: [
			[
				"all of Tidemill's resources everywhere",
				"test/roles.test.ts > %s permits this and nothing else",
			],
			[
				"Secrets and Jobs in each namespace with a binding, so every Secret and ServiceAccount there",
				"test/control-plane/tenancy/operator-bindings.laptop.test.ts > with a binding in its namespace, a Source gets its URL and a Run its Job, beside a namespace that has none",
			],
		],
		cannot: [
			[
				"Secrets and Jobs elsewhere, unless it is bound for the whole cluster",
				"test/control-plane/tenancy/operator-bindings.laptop.test.ts > without a binding, it reaches no Secret, Job or log of a namespace, and gives it no URL",
			],
		],
	},
	"the seal key, with the routes": {
		can: [
			["read all signing secrets", sealed],
			["try out tokens", digests],
		],
		cannot: [
			[
				"try out url keys, which have 128 random bits",
				"ingest/receive/request/credentials.test.ts > a URL key is checked by its digest",
			],
		],
	},
	"the key of the console's sessions": {
		can: [
			[
				"open a session's cookie that it has, too, and so use its token until that ends, signed out or not",
				"api/console/session-cookie.test.ts > a session of the former key goes on while that key is there, and new ones are of the new key",
			],
		],
		cannot: [
			[
				"make a session without a token of Kubernetes",
				"test/control-plane/console-sessions.laptop.test.ts > opens /v1 with the visitor's own rights",
			],
			["open what the seal key has sealed", sealed],
		],
	},
	"a session's cookie": {
		can: [
			["use its token by the console's requests", cookieEnds],
			["until the visitor signs out", cookieEnds],
			[
				"the token ends",
				"api/console/session-cookie.test.ts > a session ends with its token",
			],
			[
				"or 12 hours are over",
				"api/console/ended-sessions.test.ts > a session of a token without an end is over after a working day",
			],
		],
		cannot: [
			["read the token", sealed],
			[
				"or use the cookie from another site's page",
				"test/control-plane/console-sessions.laptop.test.ts > no page of another origin is let by a preflight, nor may read an answer",
			],
		],
	},
	"archive's S3 credentials": {
		can: [
			[
				"read, change and delete every account's events under S3_PREFIX",
				{ byTheirs: "the store" },
			],
		],
		cannot: [["what the bucket's policy refuses", { byTheirs: "the store" }]],
	},
};
