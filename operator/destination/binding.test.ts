import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type {
	DestinationSpec,
	DestinationStatus,
} from "../../crds/generated/types.ts";
import type { Secret } from "../../packages/kube/kinds.ts";
import {
	at,
	destinationWith,
	now,
	stateWith,
	statusIn,
	used,
} from "../../test/support/examples/destination-examples.ts";
import { askedBy } from "./binding.ts";
import { checkHash } from "./check.ts";
import { type DestinationAction, decide } from "./decide.ts";

/* Who names a Secret may not choose where its password goes: the Secret says so. */

type Postgres = Partial<NonNullable<DestinationSpec["postgres"]>>;

type CA = { name: string; key: string };
const ca = (name: string): CA => ({ name, key: "ca.crt" });

const postgres = (more: Postgres = {}): DestinationSpec => ({
	type: "Postgres",
	postgres: {
		host: "db",
		database: "shop",
		credentials: { secretRef: { name: "app" } },
		...more,
	},
});
const clickHouse = (url: string, caSecretRef?: CA) =>
	({
		type: "ClickHouse",
		clickHouse: {
			url,
			database: "shop",
			credentials: { secretRef: { name: "app" } },
			...(caSecretRef && { caSecretRef }),
		},
	}) satisfies DestinationSpec;

interface SecretChange {
	name?: string;
	uid?: string;
	hosts?: string;
	data?: Record<string, string>;
}

function secretWith({
	name = "app",
	uid = "s",
	hosts,
	data,
}: SecretChange = {}) {
	const texts = { username: "app", password: "hunter2", ...data };
	return {
		metadata: {
			name,
			uid,
			namespace: "shop",
			labels: used,
			...(hosts !== undefined && {
				annotations: { "tidemill.dev/hosts": hosts },
			}),
		},
		data: Object.fromEntries(
			Object.entries(texts).map(([key, text]) => [
				key,
				Buffer.from(text).toString("base64"),
			]),
		),
	} as Secret;
}

const authorities = (name: string, uid = name) =>
	secretWith({
		name,
		uid,
		data: { "ca.crt": "-----BEGIN CERTIFICATE-----" },
	});
const all = (secret: Secret) => [
	secret,
	secretWith({ name: "other", uid: "o" }),
	authorities("ca"),
	authorities("mine"),
];

/** The status that the build before left of a check that succeeded. */
function before(spec: DestinationSpec, secret: Secret): DestinationStatus {
	return {
		observedGeneration: 2,
		phase: "Ready",
		lastCheck: { hash: checkHash(spec, all(secret)), time: at, failures: 0 },
		conditions: [
			{
				type: "Ready",
				status: "True",
				reason: "Verified",
				message: "A check from inside the namespace could write.",
				observedGeneration: 2,
				lastTransitionTime: at,
			},
		],
	};
}

/** What the operator does about it, and the status afterwards. */
function look(
	spec: DestinationSpec,
	secret: Secret,
	status?: DestinationStatus,
	asked?: string,
) {
	const destination = destinationWith(status, spec);
	const state = stateWith({ destination, credentials: all(secret), asked });
	const actions = decide(state, now);
	const after = statusIn(actions) ?? status;
	return { actions, after, ready: after?.conditions?.[0] };
}

function inputOf(actions: DestinationAction[]) {
	const start = actions.find((action) => action.type === "startJob")!;
	const base64 = start.job.secret.data!["input.json"]!;
	return JSON.parse(Buffer.from(base64, "base64").toString()).destination;
}

const startsCheck = (actions: DestinationAction[]) =>
	actions.some(({ type }) => type === "startJob");

test.each<[string, DestinationSpec, SecretChange]>([
	[
		"another host",
		postgres({ host: "evil.example.com" }),
		{ data: { host: "db" } },
	],
	["a Secret that says nothing", postgres(), {}],
	["another port", postgres({ port: 5433 }), { hosts: "postgres://db" }],
	["no TLS", postgres({ sslMode: "disable" }), { hosts: "postgres://db" }],
	[
		"TLS without a name",
		postgres({ sslMode: "verify-ca" }),
		{ data: { host: "db" } },
	],
	[
		"authorities of the editor's",
		postgres({ caSecretRef: ca("mine") }),
		{ hosts: "postgres://db" },
	],
	[
		"others than the named authorities",
		postgres({ caSecretRef: ca("mine") }),
		{ hosts: "postgres://db?ca=ca" },
	],
	[
		"a binding of another protocol",
		postgres({ port: 443 }),
		{ hosts: "https://db" },
	],
	[
		"ClickHouse elsewhere",
		clickHouse("http://evil.example.com:8123"),
		{ hosts: "http://ch:8123" },
	],
	[
		"ClickHouse without TLS",
		clickHouse("http://ch:8443"),
		{ data: { host: "ch" } },
	],
	[
		"ClickHouse's default ports",
		clickHouse("https://ch"),
		{ data: { host: "ch" } },
	],
	[
		"ClickHouse with an editor's authorities",
		clickHouse("https://ch:8443", ca("mine")),
		{ data: { host: "ch" } },
	],
	[
		"a Secret that can't be read",
		postgres(),
		{ hosts: "db", data: { host: "db" } },
	],
])("%s: nothing is sent, and Ready says so", (_, spec, secret) => {
	const { actions, ready } = look(spec, secretWith(secret));
	expect(startsCheck(actions)).toBe(false);
	expect(ready).toMatchObject({ status: "False", reason: "HostNotBound" });
	expect(ready!.message).not.toContain("hunter2");
});

test.each<[string, DestinationSpec, SecretChange]>([
	["its own host", postgres(), { data: { host: "db" } }],
	[
		"its own host alone",
		postgres({ host: undefined! }),
		{ data: { host: "db" } },
	],
	[
		"another form of its host",
		postgres({ host: "DB.shop.svc" }),
		{ data: { host: "db" } },
	],
	[
		"the annotation",
		postgres({ sslMode: "disable" }),
		{ hosts: "postgres+disable://db" },
	],
	[
		"one of several",
		postgres({ host: "replica" }),
		{ hosts: "postgres://db,postgres://replica" },
	],
	[
		"named authorities",
		postgres({ caSecretRef: ca("ca") }),
		{ hosts: "postgres://db?ca=ca" },
	],
	[
		"its own authorities",
		postgres({ caSecretRef: ca("app") }),
		{
			hosts: "postgres://db",
			data: { "ca.crt": "-----BEGIN CERTIFICATE-----" },
		},
	],
	[
		"authorities where encryption is enough",
		postgres({ caSecretRef: ca("mine") }),
		{ hosts: "postgres+require://db" },
	],
	[
		"ClickHouse's URL",
		clickHouse("https://ch:8443/"),
		{ data: { url: "https://ch:8443" } },
	],
	[
		"ClickHouse's host",
		clickHouse("https://ch.shop.svc:8443"),
		{ data: { host: "ch" } },
	],
	[
		"ClickHouse without TLS",
		clickHouse("http://ch:8123"),
		{ hosts: "http://ch:8123" },
	],
])("bound by %s: the check starts, and its Job knows", (_, spec, secret) => {
	const { actions } = look(spec, secretWith(secret));
	expect(inputOf(actions).bound).toMatchObject({
		namespace: "shop",
		clusterDomain: "cluster.local",
		to: [expect.any(String)],
	});
});

test("a check's Job knows the cluster's own networks", () => {
	const clusterNetworks = ["10.42.0.0/16"];
	const state = stateWith({
		destination: destinationWith(undefined, postgres()),
		credentials: all(secretWith({ hosts: "postgres://db" })),
	});
	const networksOf = (more: object) =>
		inputOf(decide({ ...state, ...more }, now)).clusterNetworks;
	expect(networksOf({ clusterNetworks })).toEqual(clusterNetworks);
	expect(networksOf({})).toBeUndefined();
});

test("a key that is longer than people write costs no look, and binds nothing", () => {
	const reasonWith = (length: number) => {
		const url = `postgres://db/${"a".repeat(length)}`;
		return look(postgres(), secretWith({ data: { url } })).ready!.reason;
	};
	expect(reasonWith(10)).toBe("Checking");
	expect(reasonWith(4_096)).toBe("HostNotBound");
});

test("the command holds no word of the Destination's, and binds nothing as it stands", () => {
	const asked = ', by "kubectl" at 2026-03-01T00:00:00Z';
	const spec = postgres({
		host: "evil.example.com",
		port: 6666,
		sslMode: "disable",
	});
	const { ready } = look(spec, secretWith(), undefined, asked);
	const [, rest, command] =
		/(What spec.*?\.) Give .*(kubectl annotate .*)$/.exec(ready!.message)!;
	expect(command).toBe(
		"kubectl annotate secret app -n shop tidemill.dev/hosts='postgres+verify-full://<HOST>:5432'",
	);
	expect(rest).toBe(
		`What spec.postgres asks for is postgres+disable://evil.example.com:6666${asked}.`,
	);
	const [, pasted] = /'(.*)'/.exec(command!)!;
	for (const host of ["evil.example.com", "<HOST>"])
		expect(
			look(postgres({ host }), secretWith({ hosts: pasted! })).ready,
		).toMatchObject({ reason: "HostNotBound" });
});

test.each([
	["says another host", "postgres://other", ["db", "other"]],
	["can't be read", "db", ["db"]],
])(
	"the command for an annotation that %s adds the host, and keeps what is there",
	(_, hosts, bound) => {
		const { ready } = look(postgres(), secretWith({ hosts }));
		const [command] = /kubectl annotate .*$/.exec(ready!.message)!;
		// As kubectl answers it.
		const kubectl = `kubectl() { if [ "$1" = get ]; then printf %s "$HOSTS"; else for last; do :; done; printf %s "\${last#*=}"; fi; }`;
		const changed = execFileSync(
			"sh",
			["-ec", `${kubectl}; ${command!.replace("<HOST>", "db")}`],
			{ env: { HOSTS: hosts }, encoding: "utf8" },
		);
		expect(command).toContain(" --overwrite ");
		for (const host of bound)
			expect(
				look(postgres({ host }), secretWith({ hosts: changed })).ready,
			).toMatchObject({ reason: "Checking" });
	},
);

test("a check that runs ends when the Secret binds its host no more", () => {
	const bound = secretWith({ hosts: "postgres://db" });
	const job = look(postgres(), bound).actions.find(
		(action) => action.type === "startJob",
	)!.job.job;
	const destination = destinationWith(undefined, postgres());
	const credentials = all(secretWith());
	const actions = decide(
		stateWith({ destination, credentials, jobs: [job as never] }),
		now,
	);
	expect(actions[0]).toMatchObject({ type: "removeJob" });
});

/** What a Destination that was Ready before the upgrade is afterwards, without a binding. */
function inGrace(
	spec = postgres({ sslMode: "require" }),
	secret = secretWith(),
) {
	const { actions, after, ready } = look(spec, secret, before(spec, secret));
	expect(startsCheck(actions)).toBe(false);
	expect(ready).toMatchObject({ status: "True", reason: "VerifiedUnbound" });
	return { spec, secret, after, actions, ready };
}

test("a Destination that was Ready before the upgrade goes on, and says what binds it", () => {
	const { actions, after, ready } = inGrace();
	expect(after!.reached).toEqual({
		address: "postgres+require://db:5432",
		secretUIDs: ["s"],
		unbound: true,
	});
	expect(ready!.message).toContain(
		"tidemill.dev/hosts='postgres+verify-full://<HOST>:5432'",
	);
	expect(actions).toContainEqual(
		expect.objectContaining({
			type: "recordKubeEvent",
			severity: "Warning",
			reason: "VerifiedUnbound",
		}),
	);
	// The next look changes nothing.
	expect(
		look(postgres({ sslMode: "require" }), secretWith(), after).actions,
	).toEqual([]);
	inGrace(clickHouse("http://ch:8123"));
	inGrace(postgres({ caSecretRef: ca("ca") }));
	// Another host than the Secret's own, and a Secret whose annotation nobody can read.
	inGrace(postgres({ host: "replica" }), secretWith({ data: { host: "db" } }));
	inGrace(postgres(), secretWith({ hosts: "db" }));
});

test.each<[string, DestinationSpec, SecretChange?]>([
	["host", postgres({ sslMode: "require", host: "evil" })],
	["port", postgres({ sslMode: "require", port: 5433 })],
	["TLS", postgres({ sslMode: "disable" })],
	["TLS, to more", postgres()],
	["authorities", postgres({ sslMode: "require", caSecretRef: ca("mine") })],
	[
		"Secret",
		postgres({
			sslMode: "require",
			credentials: { secretRef: { name: "other" } },
		}),
	],
	["Secret of the same name", postgres({ sslMode: "require" }), { uid: "s2" }],
])(
	"one that changes its %s is bound first, and stays so when it is changed back",
	(_, changed, secret) => {
		const { after, spec } = inGrace();
		const {
			actions,
			after: ended,
			ready,
		} = look(changed, secretWith(secret), after);
		expect(startsCheck(actions)).toBe(false);
		expect(ready!.reason).toBe("HostNotBound");
		const back = look(spec, secretWith(), ended);
		expect(startsCheck(back.actions)).toBe(false);
		expect(back.ready!.reason).toBe("HostNotBound");
	},
);

test("one that becomes a file meanwhile is bound first, and one whose Secret is away for a while isn't", () => {
	const { after, spec, secret } = inGrace();
	const file = look(
		{ type: "DuckDB", duckDB: { path: "a.duckdb", volumeClaimName: "files" } },
		secret,
		after,
	);
	expect(file.after!.reached).not.toHaveProperty("unbound");
	expect(look(spec, secret, file.after).ready!.reason).toBe("HostNotBound");
	const destination = destinationWith(after, spec);
	const away = statusIn(decide(stateWith({ destination }), now));
	expect(away!.conditions![0]!.reason).toBe("SecretNotFound");
	expect(look(spec, secret, away).ready!.reason).toBe("VerifiedUnbound");
});

test("the grace ends with 0.2.0: then status.reached.unbound and VerifiedUnbound go, with their metric and alert", () => {
	const { version } = JSON.parse(readFileSync("package.json", "utf8"));
	expect(version).toMatch(/^0\.[01]\./);
});

test("a password that changes is checked where it went before, and the grace goes on while that fails", () => {
	const { after, spec } = inGrace();
	const rotated = secretWith({ data: { password: "new" } });
	const { actions, after: checking } = look(spec, rotated, after);
	expect(inputOf(actions).bound.to).toEqual(["postgres+require://db:5432"]);
	expect(checking).toMatchObject({
		phase: "Checking",
		reached: after!.reached,
	});
	const failed = {
		...checking!,
		phase: "Error",
		lastCheck: { hash: checkHash(spec, all(rotated)), time: at, failures: 1 },
	};
	const later = look(spec, rotated, { ...failed, observedGeneration: 1 });
	expect(startsCheck(later.actions)).toBe(true);
	expect(later.after!.reached).toEqual(after!.reached);
});

test.each<[string, DestinationStatus | undefined]>([
	["was created again", undefined],
	[
		"was not Ready",
		{
			...before(postgres(), secretWith()),
			lastCheck: {
				hash: checkHash(postgres(), all(secretWith())),
				time: at,
				failures: 1,
			},
			conditions: [
				{
					...before(postgres(), secretWith()).conditions![0]!,
					status: "False",
					reason: "CheckFailed",
				},
			],
		},
	],
	["had no check yet", { observedGeneration: 2, phase: "Checking" }],
	[
		"was Ready with another host, which changed since",
		{
			...before(postgres({ host: "old" }), secretWith()),
			observedGeneration: 1,
		},
	],
	[
		"was a file",
		{
			...before({ type: "DuckDB", duckDB: { path: "a.duckdb" } }, secretWith()),
			observedGeneration: 1,
		},
	],
	[
		"was Ready, and bound",
		{
			...before(postgres(), secretWith()),
			reached: { address: "postgres+verify-full://db:5432", secretUIDs: ["s"] },
		},
	],
])("one that %s has no grace", (_, status) => {
	const { actions, ready } = look(postgres(), secretWith(), status);
	expect(startsCheck(actions)).toBe(false);
	expect(ready!.reason).toBe("HostNotBound");
});

test("one that people gave another name, or whose password changed, while nobody looked has the grace", () => {
	const spec = postgres();
	const old = before(spec, secretWith());
	const renamed = look(spec, secretWith(), { ...old, observedGeneration: 1 });
	expect(renamed.ready!.reason).toBe("VerifiedUnbound");
	const rotated = secretWith({ data: { password: "new" } });
	const { actions, after } = look(spec, rotated, old);
	expect(startsCheck(actions)).toBe(true);
	expect(after!.reached!.unbound).toBe(true);
});

test("once bound, it has no grace any more", () => {
	const { after, spec } = inGrace();
	const annotated = secretWith({ hosts: "postgres+require://db" });
	const bound = look(spec, annotated, after);
	expect(bound.ready).toMatchObject({ status: "True", reason: "Verified" });
	expect(bound.after!.reached).toEqual({
		address: "postgres+require://db:5432",
		secretUIDs: ["s"],
	});
	expect(look(spec, secretWith(), bound.after).ready!.reason).toBe(
		"HostNotBound",
	);
});

test("a Secret with a host and no word of TLS binds what the last good check had", () => {
	const spec = postgres({ sslMode: "require", caSecretRef: ca("ca") });
	const secret = secretWith({ data: { host: "db.shop" } });
	expect(look(spec, secret).ready!.reason).toBe("HostNotBound");
	const upgraded = look(spec, secret, before(spec, secret));
	expect(upgraded.ready).toMatchObject({ status: "True", reason: "Verified" });
	const less = postgres({ sslMode: "disable" });
	const lessened = look(less, secret, upgraded.after);
	expect(lessened.ready!.reason).toBe("HostNotBound");
	expect(look(spec, secret, lessened.after).ready!.reason).toBe("Verified");
	// Of another Secret it says nothing.
	const again = secretWith({ uid: "s2", data: { host: "db.shop" } });
	expect(look(spec, again, upgraded.after).ready!.reason).toBe("HostNotBound");
});

test("who asked is whom Kubernetes has as the writer of the host, or else of the rest", () => {
	const reach = { field: "spec.postgres", hostField: "host" };
	const wrote = (manager: string, time: string, postgres: object) => ({
		manager,
		time,
		fieldsV1: { "f:spec": { "f:postgres": postgres } },
	});
	const first = wrote("argocd", "2026-01-01T00:00:00Z", { "f:host": {} });
	const later = wrote("helm", "2026-02-01T00:00:00Z", { "f:sslMode": {} });
	expect(askedBy([later, first], reach)).toBe(
		', by "argocd" at 2026-01-01T00:00:00Z',
	);
	expect(askedBy([later], reach)).toBe(', by "helm" at 2026-02-01T00:00:00Z');
	expect(askedBy([{ manager: "tidemill-operator" }], reach)).toBeUndefined();
	expect(askedBy(undefined, reach)).toBeUndefined();
	const lie = "x. Run: kubectl annotate secret app tidemill.dev/hosts='y'";
	expect(askedBy([{ ...first, manager: lie }], reach)).not.toMatch(
		/kubectl annotate|'/,
	);
});
