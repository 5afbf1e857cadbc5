import type { Words } from "./page.ts";

const bound =
	"test/control-plane/tenancy/credential-address.laptop.test.ts > a stranger's server isn't even called with a Secret that doesn't name it; once who may change the Secret names it, it is";
const around =
	"test/control-plane/tenancy/credential-address.all.test.ts > a stranger's server gets nothing by any way around the Secret's word";
const inTheJob =
	"ingest/load/unbound.test.ts > %s: nothing is bound, or another server, port or TLS";
const named =
	"test/data-plane/postgres-strangers.all.test.ts > by authorities that the Secret names, as in %j, the password goes in clear text: %s";
const unnamed =
	"packages/warehouses/definition/binding.test.ts > authorities that the Secret doesn't name are worth no more than encryption";
const ownKey =
	"test/data-plane/tenancy/bigquery-key.all.test.ts > the addresses in a service account's key are ignored";
const listed =
	"operator/destination/decide.test.ts > host %s is one that the operator's list has";
const labelled =
	"test/control-plane/tenancy/borrowed-objects.laptop.test.ts > a Destination can't use another application's %s without the label; with it, it can, and without it again no longer";
const template =
	"operator/jobs/pod-template.test.ts > what an earlier CRD let in doesn't reach the container with the key";
const pull =
	"operator/jobs/pod-template.test.ts > where the Pod runs, and what pulls its image, is as people choose";
const inward =
	"test/data-plane/tenancy/notifications.laptop.test.ts > an account's webhook reaches nothing internal, and its error shows nothing of it";
const digest =
	"test/control-plane/sources.laptop.test.ts > a token is in the route as a digest, and follows its Secret";
const sealed =
	"test/control-plane/sources.laptop.test.ts > signing secrets are in the route sealed, follow their Secrets, and rest while nothing changes";
const fetched =
	"test/data-plane/notifications.laptop.test.ts > notify fetches public keys for receive: by https, from an address that may be called, a short answer, and no redirect";
const amazon =
	"test/data-plane/amazon-sns.all.test.ts > a forged message is refused, whatever its certificate's URL says, and Amazon isn't called for a foreign one";
const links =
	"test/data-plane/load-from-s3.all.test.ts > a load needs presigned links and nothing else";
const proxied =
	"test/data-plane/load-proxy.all.test.ts > a proxy that a template names sees who is called by https, and nothing of what goes to a store by http";
const noRedirect =
	"test/transport/s3-redirects.test.ts > a store's redirect (%i) to another address is not followed";
const ownHost =
	"test/control-plane/console-oidc.all.test.ts > behind a proxy with a path prefix and TLS the provider sends the browser back there; a foreign host begins nothing";
const ownCluster =
	"test/control-plane/cli-identity.all.test.ts > an API that the cluster doesn't call its own gets no token, not even an administrator's";
const visitor =
	"test/control-plane/console-sessions.laptop.test.ts > opens /v1 with the visitor's own rights";

/** Of a line of the table "Where a credential may go": the words of each cell, with what shows them. */
export interface CredentialAddress {
	"Who chooses it": Words;
	"Who chooses where it goes": Words;
	"What binds them": Words;
}

/** By the first cell of that table in docs/security.md. */
export const credentialAddresses: Record<string, CredentialAddress> = {
	"the user and password of Postgres or ClickHouse": {
		"Who chooses it": [
			["who writes the Destination, by the Secret's name", bound],
		],
		"Who chooses where it goes": [["the same", bound]],
		"What binds them": [
			["the Secret's own word, as below", bound, around],
			["compared by the operator before it makes a Job", bound],
			["and by the Job before it connects", inTheJob],
		],
	},
	"the authorities of their server (caSecretRef)": {
		"Who chooses it": [["who writes the Destination", around]],
		"Who chooses where it goes": [["they prove that it is the server", named]],
		"What binds them": [
			["the credentials' Secret names that Secret (?ca=)", named],
			["or has the certificates itself", named],
			["by others TLS counts as require", unnamed],
		],
	},
	"a service account's key for Google": {
		"Who chooses it": [["who writes the Destination", labelled]],
		"Who chooses where it goes": [
			["Google's API, in the key's own universe_domain", ownKey],
			[
				"another apiEndpoint or storageEndpoint by who installs Tidemill",
				listed,
			],
		],
		"What binds them": [
			["the operator's setting TIDEMILL_BIGQUERY_ENDPOINTS", listed],
			[
				"the key signs tokens by itself, and no token server that it names is asked",
				ownKey,
			],
		],
	},
	"a ServiceAccount's workload identity": {
		"Who chooses it": [
			["who writes the Destination, by a name with the label", labelled],
		],
		"Who chooses where it goes": [
			["the cloud that the node belongs to", { byTheirs: "the cloud" }],
		],
		"What binds them": [
			["the same setting", listed],
			["the Job's image, which nobody but the operator chooses", template],
		],
	},
	"an image pull secret of a template": {
		"Who chooses it": [["who writes the template", pull]],
		"Who chooses where it goes": [
			["the registry of the operator's image", template],
		],
		"What binds them": [
			[
				"the registries in that Secret, by which the kubelet chooses",
				{ byTheirs: "the kubelet" },
			],
		],
	},
	"a notification's URL and its signingSecret": {
		"Who chooses it": [["who writes the Secret with both", inward]],
		"Who chooses where it goes": [["the same", inward]],
		"What binds them": [
			["they are one Secret", inward],
			[
				"https to public addresses alone",
				inward,
				"ingest/notify/call.test.ts > a name is refused if it stands for an internal address, and the receiver never hears of it",
			],
			[
				"and no redirect is followed",
				"ingest/notify/call.test.ts > a redirect isn't followed",
			],
		],
	},
	"a sender's token or signing secret": {
		"Who chooses it": [
			["who writes the Source, by the Secret's name and key", digest],
		],
		"Who chooses where it goes": [
			["receive alone, as a digest", digest],
			["or sealed", sealed],
		],
		"What binds them": [
			["it is sent nowhere", digest, sealed],
			[
				"compute answers with an HMAC by it",
				"test/data-plane/receive.laptop.test.ts > nobody gets the signature of an event as the answer to a challenge, and no event looks like a challenge",
			],
			[
				"and none under 16 bytes is taken",
				"test/protocols/signatures.test.ts > a secret that can't be a key in %s is a problem: %s",
			],
		],
	},
	"public keys at a URL (publicKey.url, keyHosts), Amazon SNS's confirmation": {
		"Who chooses it": [["nobody: the request has no credential", fetched]],
		"Who chooses where it goes": [
			["who writes the Source", fetched],
			[
				"SNS: Amazon's hosts alone",
				"packages/contracts/notify-question.test.ts > %s confirms nothing",
				amazon,
			],
		],
		"What binds them": [["nothing to bind", fetched]],
	},
	"a Run's, an Export's and an Import's links": {
		"Who chooses it": [["archive", links]],
		"Who chooses where it goes": [["the store that S3_ENDPOINT names", links]],
		"What binds them": [
			["both are who installs Tidemill", links],
			["over https a template's proxy sees the host alone", proxied],
		],
	},
	"NATS passwords, S3 credentials, the OIDC client's secret, the token of the traces' collector":
		{
			"Who chooses it": [["who installs Tidemill", noRedirect]],
			"Who chooses where it goes": [["the same", noRedirect, ownHost]],
			"What binds them": [["settings of one process", noRedirect, ownHost]],
		},
	"a caller's token at the REST API, and the console's session": {
		"Who chooses it": [["the caller", visitor]],
		"Who chooses where it goes": [
			["the apiserver of the API's own cluster", visitor],
		],
		"What binds them": [
			["who installs Tidemill", visitor],
			["a kubeconfig's token goes only to the cluster's own API", ownCluster],
		],
	},
};
