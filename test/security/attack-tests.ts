import type { Proof } from "./page.ts";

/** The tests of a file, by their titles. */
const of =
	(file: `${string}.ts`) =>
	(...titles: [string, ...string[]]): Proof[] =>
		titles.map((title): Proof => `${file} > ${title}`);

const tenancy = "test/control-plane/tenancy";
const metadata = of(`${tenancy}/role-metadata.all.test.ts`);
const reserved = of(`${tenancy}/reserved-names.laptop.test.ts`);
const unbound = of(`${tenancy}/credential-address.all.test.ts`);
const unboundFirst = of(`${tenancy}/credential-address.laptop.test.ts`);
const binding = of("packages/warehouses/definition/binding.test.ts");
const ofDestination = of("operator/destination/binding.test.ts");
const template = of("operator/jobs/pod-template.test.ts");
const runTemplate = of("test/control-plane/run-template.all.test.ts");
const password = of("test/local-mode/password-address.all.test.ts");
const body = of("api/resources/resource-body.test.ts");
const receive = of("ingest/receive/http-server.laptop.test.ts");
const api = of("api/server.laptop.test.ts");
const health = of("packages/service/health-server.laptop.test.ts");
const dbt = of("cli/dbt.test.ts");
const dbtItself = of("test/ecosystem/dbt/strangers-text.ts")(
	"checkStrangersText",
);
const escapes = of("packages/escapes/escapes.test.ts");
const programs = of("test/security/programs.deep.test.ts");
const secrets = of("test/control-plane/secrets.laptop.test.ts");
const namedSecrets = of("operator/reconcile/named-secrets.test.ts");
const held = of("operator/reconcile/held.test.ts");
const partInformer = of("packages/kube/watch/part-informer.test.ts");
const postgres = of("test/data-plane/postgres-strangers.all.test.ts");
const clickhouse = of("test/data-plane/clickhouse-strangers.all.test.ts");
const secretTexts = of("packages/warehouses/definition/secrets.test.ts");
const checkedHost = of("packages/warehouses/load/checked-host.test.ts");
const sql = of("cli/bin/sql.test.ts");
const sessions = of("api/console/ended-sessions.test.ts");
const users = of("test/data-plane/nats-users.laptop.test.ts");
const accounts = of("test/data-plane/nats-accounts.all.test.ts");

const isRefused = metadata(
	"writes none of what is Tidemill's or too large on %s",
);
const forRunner = reserved(
	"who may only start Runs sets names, labels, annotations and spec, and has none removed, kept or passed off as the schedule's",
);
const forEraser = reserved(
	"who may only erase has nobody's Erase removed while it runs, and keeps none for ever",
);
const forEditor = reserved(
	"an editor sets no owners, finalizers and marks of Tidemill, and frees what a finalizer of others holds",
);
const forTokenAdmin = reserved(
	"who hands out tokens gives a ServiceAccount no identity of a cloud, no Secrets, and nothing that removes or keeps it",
);
const noWayRound = unbound(
	"a stranger's server gets nothing by any way around the Secret's word",
);
const notSent = password(
	"isn't sent to another host, whatever an editor tries with what is there",
);
const noAddress = body(
	"who changes a password says where it goes, and not somebody who changed that before",
);
const crowds = [
	...receive(
		"strangers with more connections than receive may have, each with %s, cost no Source an event",
	),
	...api(
		"strangers with more connections than the API may have, each with %s, keep nobody with a token out",
	),
	...health(
		"strangers with more connections than a health server may have, each with %s, keep neither kubelet nor Prometheus out",
	),
];
const isUnverified = postgres("a server that %s is refused");
const answers = accounts(
	"%s: an answer reaches no foreign subject, unless docs/security.md says so",
);
const eachRefused = accounts("$role $what: refused");

/** By how each attack of docs/reference/attacks.md begins, in the page's order: the tests that repeat it. */
export const attackTests: readonly [begins: string, proofs: Proof[]][] = [
	[
		"set the clock of NATS",
		[
			...of("test/faults/clocks/operator-clock.deep.test.ts")(
				"clocks wrong by %i hours (%j): a Run says %s meanwhile; later Runs, also of the whole window, have each event once",
			),
			...of("test/faults/chaos/chaos.deep.test.ts")(
				"seed %i: each event exactly once",
			),
			...of("packages/warehouses/load/table-mark.test.ts")(
				"of a mark of the future whose the table is and where its rows come from is believed, and a Run of the whole window that a person asks for is refused by no mark's time",
			),
		],
	],
	[
		"a Run seconds after midnight",
		of("test/faults/chaos/midnight.all.test.ts")(
			"a Run made seconds after midnight holds what was answered after midnight, though the operator's clock says the day before",
		),
	],
	[
		"send bodies so large",
		of("test/data-plane/load-large-bodies.all.test.ts")(
			"bodies that don't fit into memory at once are loaded, and so is every Run after them",
		),
	],
	["create a Run with the owner of another object", forRunner],
	["give somebody's Erase an owner", [...forEraser, ...isRefused]],
	["hold an object and its namespace", [...forEditor, ...isRefused]],
	["fill somebody's Erase or Run", [...forEraser, ...isRefused]],
	[
		"keep admission busy",
		metadata("tens of thousands of labels are refused like a few large ones"),
	],
	[
		"take a finalizer off a Run",
		[
			...forRunner,
			...metadata("keeps what an object has, and changes the rest, on %s"),
		],
	],
	[
		"hold an Erase by the finalizer that Argo CD",
		metadata(
			"a tenant's Argo CD with an editor's rights applies the examples, holds its hook and lets it go",
			"writes none of what is Tidemill's or too large on %s",
		),
	],
	[
		"keep another application's object",
		[
			...forEditor,
			...metadata(
				"an editor's Secrets have no owners, finalizers and marks but the label",
			),
		],
	],
	[
		"with the built-in role `edit`",
		reserved(
			"nobody but an operator claims namespaces for an installation, by a Lease that operators would believe",
		),
	],
	["give a token's ServiceAccount an identity", forTokenAdmin],
	["go round it by `status`", metadata("has no other way to %s")],
	[
		"stand behind another application's Service",
		[
			...template(
				"the label %s, by which a Service may select the Pod, needs an administrator's word",
			),
			...runTemplate(
				"a Pipeline that asks for what only an administrator may allow is not Ready, and says so",
			),
		],
	],
	[
		"create `<source>-webhook-url`",
		[
			...reserved(
				"nobody but the operator, and who restores a cluster, writes the keys of a Source's URL",
			),
			...of("api/events/receipt.test.ts")(
				"a shard that isn't there hides no event of another, and may have an event that is nowhere else",
			),
		],
	],
	[
		"as an editor, name another's labelled Secret",
		unboundFirst(
			"a stranger's server isn't even called with a Secret that doesn't name it; once who may change the Secret names it, it is",
		),
	],
	["the same with ClickHouse", noWayRound],
	[
		"name authorities of one's own in `caSecretRef`",
		[
			...noWayRound,
			...binding(
				"authorities that the Secret doesn't name are worth no more than encryption",
			),
		],
	],
	[
		"have a host pass for another",
		binding(
			"%s: what is bound to %s may not go to %s",
			"%j is no binding",
			"with the cluster's own domain, a Service has that one",
		),
	],
	[
		"put a host, or a command of one's own",
		ofDestination(
			"the command holds no word of the Destination's, and binds nothing as it stands",
			"who asked is whom Kubernetes has as the writer of the host, or else of the rest",
		),
	],
	[
		"get the grace of an upgrade again",
		[
			...ofDestination(
				"one that changes its %s is bound first, and stays so when it is changed back",
				"one that %s has no grace",
			),
			...unbound(
				"a Destination that was Ready before the upgrade goes on to that address alone, is told of, and gets no second grace",
			),
		],
	],
	[
		"take the Secret's host and only lower the TLS",
		ofDestination(
			"a Secret with a host and no word of TLS binds what the last good check had",
		),
	],
	[
		"make the operator busy by a Secret",
		binding(
			"an annotation that is longer than people write is read by nobody",
			"one that is none spoils all, and nothing of it is said",
		),
	],
	[
		"hand a Job an input",
		of("ingest/load/unbound.test.ts")(
			"%s: nothing is bound, or another server, port or TLS",
		),
	],
	[
		"read a Run's manifest and links",
		of("test/data-plane/load-proxy.all.test.ts")(
			"a proxy that a template names sees who is called by https, and nothing of what goes to a store by http",
		),
	],
	[
		"run code in a Job by `NODE_OPTIONS`",
		[
			...template("the annotation %s needs an administrator's word"),
			...runTemplate(
				"a variable that would reach the Destination's key is refused at admission",
			),
		],
	],
	[
		"make a plan slow for others",
		of("packages/tracking-plan/fuel.laptop.test.ts")(
			"%s takes a bounded number of steps",
		),
	],
	[
		"change a resource that was deleted",
		of("api/resources/etag.test.ts")(
			"a resource that is made again has another ETag",
		),
	],
	[
		"turn a table of the command line round",
		of("cli/command/output.test.ts")(
			"no output shows text backwards or breaks a line (%j)",
		),
	],
	["have a Secret's password sent", notSent],
	[
		"change host, port, TLS or authorities in advance",
		[...noAddress, ...notSent],
	],
	[
		"change them between the API's look",
		of("api/resources/resource-update.test.ts")(
			"an address that changes while somebody gives a password gets none",
		),
	],
	["give the authorities' Secret by name alone", noAddress],
	[
		"write a binding by REST in another way",
		body(
			"a body with %s is refused: annotations of a Secret come with a password alone",
		),
	],
	[
		"bind a Secret that is there",
		body(
			"a change of the address alone makes no Secret and binds none",
			"a body with %s is refused: annotations of a Secret come with a password alone",
		),
	],
	["give a user's name or password with CR", body("a password %s is refused")],
	[
		"have a `whsec_` secret or a token guessed",
		[
			...of("test/protocols/signatures.test.ts")(
				"a secret of %s that can't be one is a problem, and nothing is open: %j",
			),
			...of("api/resources/secret-fields.test.ts")("a token of %j is refused"),
		],
	],
	[
		"send with a JSON Web Token",
		of("test/protocols/web-token.test.ts")(
			"of another project's service account",
			"that nobody signed, or with the public key as a secret",
			"by a key for encryption",
		),
	],
	[
		"have an event signed by a computed value",
		of("test/protocols/computed-headers.test.ts")(
			"a body that could be signed is no event",
			"a POST is answered only after its own signature was verified",
		),
	],
	[
		"find out a signature or a secret",
		of("test/data-plane/refused-requests.laptop.test.ts")(
			"people read what is wrong with a signature, and its sender reads one sentence",
		),
	],
	[
		"make a token that works look expired",
		of("api/resources/tokens.test.ts")(
			"a token that may work isn't called expired: a binding %s",
		),
	],
	[
		"keep a tracking plan from being deleted",
		of("test/control-plane/api-resources.laptop.test.ts")(
			"a resource that others use is deleted only by force",
		),
	],
	[
		"a schedule with the zone",
		of("crds/schedule.test.ts")(
			"the time zone %s, which the IANA database doesn't have, is refused",
			"cron %j is refused with the reason",
		),
	],
	["ten thousand connections without a request", crowds],
	[
		"a head or a body that trickles",
		[
			...crowds,
			...receive(
				"a body that arrives byte by byte is answered 408 in time, and its bytes are freed",
			),
			...api("the API has a deadline for each phase of a connection"),
		],
	],
	["TLS handshakes that never end", crowds],
	[
		"thousands of requests with a valid token",
		api(
			"%s, with a valid token from several networks, take half of the connections, and other accounts have theirs",
		),
	],
	["many connections, each with one slow request", crowds],
	[
		"HTTP pipelining",
		[
			...crowds,
			...receive("pipelined requests on one connection are answered in order"),
		],
	],
	[
		"send an event of the type `{{ env_var",
		[
			...dbt(
				"what strangers have named stands in a description as Markdown and Jinja show it",
			),
			...dbtItself,
		],
	],
	["stop a whole dbt project", dbtItself],
	[
		"as an editor, name a Destination's `schema`",
		[...dbt("an editor's name of a schema is no Jinja either"), ...dbtItself],
	],
	["run a script in dbt's site", escapes("Markdown shows %j by %j")],
	[
		"have a spreadsheet carry out",
		[
			...escapes(
				"no cell of CSV begins as a formula, and the text stands behind an apostrophe",
			),
			...programs("shows each text that somebody sent, and carries none out"),
		],
	],
	[
		"the same in the middle of a text",
		of("packages/escapes/csv.test.ts")(
			"no cell begins as a formula for a spreadsheet that separates by %j, either",
		),
	],
	[
		"write to the terminal by an event type",
		[
			...of("cli/command/output.test.ts")(
				"nothing that a command says writes to the terminal",
				"each command prints by these functions alone",
			),
			...of("cli/resource/job-log.test.ts")(
				"a log writes nothing to the terminal, whether it is followed or has ended",
			),
			...of("cli/resource/progress-lines.test.ts")(
				"on a terminal what a run waits for stands in its line, and writes nothing else",
			),
			...of("packages/warehouses/load/query-output.test.ts")(
				"a terminal gets a result without what it would carry out, and a program each character",
			),
		],
	],
	[
		"write to the terminal of who runs `kubectl",
		[
			...of("packages/kube/reconcile/status-writer.test.ts")(
				"a message writes nothing to the terminal on which people read it, and then it counts as written",
			),
			...of("packages/kube/reconcile/kube-events.all.test.ts")(
				"a note writes nothing to the terminal on which people read it",
			),
			...of("packages/service/log.test.ts")(
				"a line of the log is JSON, and writes nothing to the terminal on which somebody reads it",
			),
		],
	],
	[
		"have somebody paste a command",
		[
			...escapes(
				"a command that somebody pastes has nothing that a terminal carries out, quoted or not",
			),
			...of("console/sources/event-text.test.ts")(
				"a shell gets each argument as it is, whatever strangers wrote",
			),
		],
	],
	[
		"make `tracking-plans draft`",
		of("ingest/operation/draft.test.ts")(
			"a draft holds each type and member that a sender has named, for kubectl, too",
		),
	],
	[
		"call a channel of Slack",
		[
			...of("ingest/notify/signed-request.test.ts")(
				"Slack gets its own format, in which a message can't call people",
			),
			...escapes("Slack shows %j by %j"),
		],
	],
	[
		"end a comment or a literal of SQL",
		[
			...of("test/data-plane/warehouses/words-cases.ts")(
				"what strangers name stands in comments as it is, and is no SQL",
			),
			...of("packages/duckdb/quoting.test.ts")(
				"DuckDB takes each text for itself, as a value, a name and a comment",
			),
		],
	],
	[
		"run Ruby on a Homebrew user's machine",
		[
			...of("tools/npm/manifests.test.ts")(
				"a version that isn't one, %j, stands in no manifest",
			),
			...programs(
				"Ruby reads Homebrew's formula, and its address and checksum are the release's",
				"takes the manifest of a release",
			),
		],
	],
	[
		"fill the operator's memory by labelled Secrets",
		[
			...secrets(
				"the apiserver is asked for the metadata of Secrets, and for the whole of one at a time, which has the label",
			),
			...namedSecrets(
				"of a Secret the values are held that resources name, and of one that nobody names none",
			),
		],
	],
	[
		"the same by Sources that name each",
		[
			...namedSecrets(
				"of a Secret the values are held that resources name, and of one that nobody names none",
			),
			...of("packages/kube/client/long-strings.test.ts")(
				"long strings are emptied, but for those that are wanted, in chunks of %d characters",
			),
		],
	],
	[
		"name keys whose values are large",
		[
			...namedSecrets(
				"a value beyond the bound isn't held, and its fault has its size and the bound",
				"a namespace's large values have so much room together, and a token needs none",
			),
			...secrets(
				"a token beside a megabyte is used, its change is a route's within seconds, and a value of a megabyte is refused by its size",
			),
		],
	],
	[
		"annotate resources with 250 KB each",
		held(
			"of labels and annotations only those are held that Tidemill reads, and none that is long",
			"of what is others' too, few owners are held and nothing else but metadata",
		),
	],
	[
		"make one of Tidemill's own annotations huge",
		held(
			"of labels and annotations only those are held that Tidemill reads, and none that is long",
		),
	],
	[
		"TrackingPlans with schemas of 1 MB",
		[
			...of("operator/reconcile/named-schemas.test.ts")(
				"the schemas in %s of a namespace's plans have so much room together, and a plan beyond it says so",
			),
			...partInformer(
				"a namespace has so much room and no other's, and what it has no room for is read where there is some again",
			),
		],
	],
	[
		"the same by plans within Operations",
		held(
			"of the plan that an Operation tries, no schema is held",
			"of an Operation that has ended, neither what it was to do nor its result is held",
		),
	],
	[
		"large Pods and Jobs of one's own",
		held("of a Pod its status and node are held"),
	],
	[
		"give a ServiceAccount, a Secret or a Pod an owner",
		held(
			"of what is others' too, few owners are held and nothing else but metadata",
		),
	],
	[
		"have the operator read all Destinations",
		of("operator/api-secret-state.test.ts")(
			"the resources of a namespace are asked for in bounded pages, however large people have made them",
		),
	],
	[
		"list a hundred objects of 1.5 MB",
		of("api/resources/page.test.ts")(
			"objects that are too large for one page come in several, none is left out, and one alone comes whole",
			"only two pages of more than 100 are read at once",
		),
	],
	[
		"keep large answers in the API's memory",
		[
			...of("api/caller/open-requests.test.ts")(
				"one account's large bodies take half of the room until they are answered, another account has its own, and small ones go on",
				"an answer beyond an account's share is refused, and keeps nothing",
			),
			...api(
				"answers that nobody reads take half of the room for them; another account's are sent, and small ones, and all once they are gone",
			),
		],
	],
	[
		"small objects before large ones",
		of("packages/kube/watch/informer.test.ts")(
			"a page that is too long is asked for again in smaller ones, until one object is taken whatever it has",
		),
	],
	[
		"change a hundred Secrets without pause",
		partInformer("one account's reads don't hold up another's"),
	],
	[
		"the same at each start of the operator",
		secrets(
			"after a restart a token's change takes effect while another account's Secrets are still being read, and a new bucket is marked complete once all are",
		),
	],
	[
		"have a route dropped while its Secret",
		of("operator/source/routes/desired.test.ts")(
			"a Source keeps its route while a Secret that it names has yet to be read",
		),
	],
	[
		"be the server at the address",
		[
			...isUnverified,
			...of("test/data-plane/postgres-load.laptop.test.ts")(
				"a server that nothing verifies and that asks for the password %s gets no byte of it",
			),
		],
	],
	["have SCRAM's proof made", isUnverified],
	["get events as that server", isUnverified],
	[
		"crash a Job by a request for GSSAPI",
		postgres(
			"a server that asks for what the client can't, such as GSSAPI, gets nothing",
		),
	],
	[
		"reach an inside address by an IPv6",
		[
			...of("packages/service/address.test.ts")("%s is not", "%s is %s"),
			...checkedHost("%s is refused: %s"),
		],
	],
	[
		"send lines to another account's memcached",
		[
			...postgres(
				"a control character in %s is refused before anything is sent",
			),
			...clickhouse(
				"a control character in the %s is refused before anything is sent",
			),
			...secretTexts(
				"a %s of a Secret has no control character, which other protocols read",
			),
		],
	],
	[
		"the same by any other text of a custom resource",
		of("crds/control-characters.test.ts")(
			"a field takes control characters only if it is known to be none of a protocol's",
		),
	],
	[
		"name several hosts, or a socket's path",
		secretTexts("a host of a Secret is one name or address"),
	],
	[
		"answer ClickHouse's request with a redirect",
		clickhouse("a redirect by status %i takes nothing elsewhere"),
	],
	[
		"have a name of one's own lead",
		[
			...checkedHost(
				"an address that no Secret binds isn't reached in the cluster",
				"the address that was checked is the one connected to: nobody is asked again",
			),
			...postgres("in the cluster's own networks, %s leads to %i connections"),
		],
	],
	[
		"verify one's own server by authorities",
		postgres(
			"by authorities that the Secret names, as in %j, the password goes in clear text: %s",
		),
	],
	[
		"read a visitor's bodies out of the browser's cache",
		of("api/http/callers-only.test.ts")(
			"no cache may keep an answer of any path of the OpenAPI document, whatever it is answered",
		),
	],
	[
		"have the password of who queries",
		sql(
			"of a server, the command of its own client is printed alone, and nothing but the destination is read",
		),
	],
	[
		"run a command, or give a client another host",
		of("cli/bin/sql-command.laptop.test.ts")(
			"in the words of psql, %j is a name and no more",
			"in the words of clickhouse-client, %j is a name and no more",
		),
	],
	[
		"have a person's other files read",
		sql("a destination's path leads to no other file of the person's: %s"),
	],
	[
		"read events without the right to",
		[
			...of("test/data-plane/refused-rows.all.test.ts")(
				"a conversion in a trigger",
				"a UNIQUE index",
				"a materialized column",
				"a job that fails: %s",
			),
			...of("test/promises/you-are-told.laptop.test.ts")(
				"a Run says what refuses a row, and nothing of the row, to whoever may see Runs and not events",
			),
		],
	],
	[
		"the same by a function that raises",
		of("packages/warehouses/postgres/load/failure.test.ts")(
			"a function or trigger that raises %s is told by that alone",
		),
	],
	[
		"leave a view in a DuckDB file",
		sql("a query reads the file alone: %s is refused"),
	],
	[
		"have a person overwrite and label",
		of("cli/provider/secret.test.ts")(
			"a Secret %s stays as it is, whichever Source names it",
		),
	],
	[
		"have a person's `events send`",
		of("cli/events/sending.test.ts")(
			"the token of a Source's Secret is sent, if the person may read it",
		),
	],
	[
		"let somebody believe that a read-only token",
		of("cli/whoami.test.ts")(
			"a token that a person sets wins over the kubeconfig, also of a local Tidemill, and whoami says as whom each server sees them",
		),
	],
	[
		"go on with a copy of a session's cookie",
		[
			...sessions(
				"a copied cookie opens nothing at any replica once its visitor has signed out; another session goes on",
				"a stream that the copied cookie has opened is cut",
			),
			...of("test/control-plane/api-replicas.all.test.ts")(
				"a session that one replica has ended, as the NATS user api, is over at another",
			),
		],
	],
	[
		"bring back an ended session",
		sessions(
			"while NATS is away, a session that was known a moment ago goes on, any other is 503, and a sign-out says until when a copy works",
			"a session of a token without an end is over after a working day",
		),
	],
	[
		"end a visitor's session from another site",
		sessions("another page ends no session"),
	],
	[
		"put another image behind the tag",
		of("tools/image/builder-digest.laptop.test.ts")(
			"a release is built by what the Dockerfile's tag leads to, named by its digest",
			"%s is no builder of a release",
		),
	],
	[
		"put another program behind the version of buildx",
		of("test/workflows.test.ts")(
			"the image is built by a builder of one digest, and a release's tools are those of one version",
		),
	],
	[
		"as user `receive`, `operator`, `api` or `notify`, have a stream",
		[
			...users(
				"%s: neither a stream's settings nor an answer leads to a foreign subject",
			),
			...accounts(
				"%s: of all settings, those pass that docs/security.md names",
			),
		],
	],
	[
		"ask for something permitted",
		[
			...users(
				"%s: neither a stream's settings nor an answer leads to a foreign subject",
			),
			...answers,
		],
	],
	["ask archive or notify with such a reply subject", answers],
	[
		"acknowledge notify's order",
		accounts(
			"no user can acknowledge or name another's order by a reply subject",
		),
	],
	["list source keys by `STREAM.INFO`", eachRefused],
	["answer another role's question", eachRefused],
	["forge a change of a route", eachRefused],
	[
		"send settings along",
		accounts(
			"settings that a role sends along when it has a stream made are nobody's",
		),
	],
	["delete or empty another role's stream", eachRefused],
	[
		"listen to another account's changes",
		accounts("%s hears no other account"),
	],
	["have `allow_responses` carry", answers],
	[
		"have NATS report on a message's way",
		accounts(
			"%s: what NATS tells of a message on its way goes to no foreign subject",
		),
	],
	[
		"as user `api`, learn keys of Sources",
		accounts(
			"the API gets no ledger from NATS itself, which takes a wildcard for a key",
		),
	],
	[
		"as user `receive`, ask for everything",
		accounts(
			"who may ask whether NATS syncs its writes learns no key and no name by it",
		),
	],
	["sign in to NATS without a user", accounts("nobody signs in %s")],
	[
		"empty the frames' stream",
		accounts(
			"a frame, a key or a count can't empty its stream, come later or elsewhere, or in one with others",
		),
	],
];
