import type { Proof } from "./page.ts";

/** By the first cell of the table "Where a credential may go" in docs/security.md: what shows that it goes nowhere else. */
export const credentialAddresses: Record<string, Proof[]> = {
	"the user and password of Postgres or ClickHouse": [
		"test/control-plane/tenancy/credential-address.laptop.test.ts > a stranger's server isn't even called with a Secret that doesn't name it; once who may change the Secret names it, it is",
		"test/control-plane/tenancy/credential-address.all.test.ts > a stranger's server gets nothing by any way around the Secret's word",
		"ingest/load/unbound.test.ts > %s: nothing is bound, or another server, port or TLS",
	],
	"the authorities of their server (caSecretRef)": [
		"test/data-plane/postgres-strangers.all.test.ts > by authorities that the Secret names, as in %j, the password goes in clear text: %s",
		"packages/warehouses/definition/binding.test.ts > authorities that the Secret doesn't name are worth no more than encryption",
	],
	"a service account's key for Google": [
		"test/data-plane/tenancy/bigquery-key.all.test.ts > the addresses in a service account's key are ignored",
		"operator/destination/decide.test.ts > host %s is one that the operator's list has",
	],
	"a ServiceAccount's workload identity": [
		"test/control-plane/tenancy/borrowed-objects.laptop.test.ts > a Destination can't use another application's %s without the label; with it, it can, and without it again no longer",
		"operator/jobs/pod-template.test.ts > what an earlier CRD let in doesn't reach the container with the key",
	],
	"an image pull secret of a template": [
		"operator/jobs/pod-template.test.ts > where the Pod runs, and what pulls its image, is as people choose",
		{ byTheirs: "the kubelet" },
	],
	"a notification's URL and its signingSecret": [
		"ingest/notify/call.test.ts > a redirect isn't followed",
		"ingest/notify/call.test.ts > a name is refused if it stands for an internal address, and the receiver never hears of it",
		"test/data-plane/tenancy/notifications.laptop.test.ts > an account's webhook reaches nothing internal, and its error shows nothing of it",
	],
	"a sender's token or signing secret": [
		"test/control-plane/sources.laptop.test.ts > a token is in the route as a digest, and follows its Secret",
		"test/control-plane/sources.laptop.test.ts > signing secrets are in the route sealed, follow their Secrets, and rest while nothing changes",
		"test/protocols/signatures.test.ts > a secret that can't be a key in %s is a problem: %s",
	],
	"public keys at a URL (publicKey.url, keyHosts), Amazon SNS's confirmation": [
		"test/data-plane/notifications.laptop.test.ts > notify fetches public keys for receive: by https, from an address that may be called, a short answer, and no redirect",
		"packages/contracts/notify-question.test.ts > %s confirms nothing",
		"test/data-plane/amazon-sns.all.test.ts > a forged message is refused, whatever its certificate's URL says, and Amazon isn't called for a foreign one",
	],
	"a Run's, an Export's and an Import's links": [
		"test/data-plane/load-from-s3.all.test.ts > a load needs presigned links and nothing else",
		"test/data-plane/load-proxy.all.test.ts > a proxy that a template names sees who is called by https, and nothing of what goes to a store by http",
	],
	"NATS passwords, S3 credentials, the OIDC client's secret, the token of the traces' collector":
		[
			"test/transport/s3-redirects.test.ts > a store's redirect (%i) to another address is not followed",
			"test/control-plane/console-oidc.all.test.ts > behind a proxy with a path prefix and TLS the provider sends the browser back there; a foreign host begins nothing",
		],
	"a caller's token at the REST API, and the console's session": [
		"test/control-plane/cli-identity.all.test.ts > an API that the cluster doesn't call its own gets no token, not even an administrator's",
		"test/control-plane/console-sessions.laptop.test.ts > opens /v1 with the visitor's own rights",
	],
};
