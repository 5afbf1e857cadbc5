import { expect, test } from "vitest";
import {
	type Binding,
	bindingsOf,
	bindingText,
	hostIn,
	isBound,
	parseBinding,
	parseBindings,
	type Scheme,
	tlsModes,
} from "./binding.ts";

const names = { namespace: "shop", clusterDomain: "cluster.local" };
const binding = (text: string): Binding => parseBinding(text)!;
const isBoundTo = (bound: string, target: string, inNames = names) =>
	isBound(binding(target), binding(bound), inNames);

test.each([
	["postgres://db", "postgres+verify-full://db:5432"],
	[
		"postgresql://DB.Example.com.:6432/",
		"postgres+verify-full://db.example.com.:6432",
	],
	["POSTGRES+Require://db", "postgres+require://db:5432"],
	[
		"postgres+disable://[2001:DB8:0::1]:5432",
		"postgres+disable://[2001:db8::1]:5432",
	],
	["postgres+verify-ca://10.0.0.1", "postgres+verify-ca://10.0.0.1:5432"],
	[
		"postgres://db?ca=cluster-ca",
		"postgres+verify-full://db:5432?ca=cluster-ca",
	],
	["http://ch.db.svc:8123", "http://ch.db.svc:8123"],
	["https://ch", "https://ch:443"],
	["http://ch/", "http://ch:80"],
])("the binding %s is %s", (text, whole) => {
	expect(bindingText(binding(text))).toBe(whole);
	expect(binding(whole)).toEqual(binding(text));
});

test.each([
	"",
	"db",
	"db:5432",
	"//db",
	"mysql://db",
	"constructor://db",
	"postgres+prefer://db",
	"http+disable://ch",
	"postgres://",
	"postgres://:5432",
	"postgres://db:0",
	"postgres://db:65536",
	"postgres://db:",
	"postgres://*.example.com",
	"postgres://db..example.com",
	"postgres://user:secret@db",
	"postgres://db@evil",
	"postgres://db/analytics",
	"postgres://db?sslmode=disable",
	"postgres://db?ca=a&ca=b",
	"postgres://db#evil",
	"postgres://db%2eexample.com",
	"postgres://b\u00fccher.example",
	"postgres://fe80::1",
	"postgres://[fe80::1%eth0]",
	"postgres://[db",
])("%j is no binding", (text) => {
	expect(parseBinding(text)).toBeUndefined();
});

test("bindings are separated by commas or white space", () => {
	expect(parseBindings(" postgres://a,\n\tpostgres://b  https://c,")).toEqual(
		["postgres://a", "postgres://b", "https://c"].map(binding),
	);
	expect(parseBindings(" , ")).toEqual([]);
});

test("one that is none spoils all, and nothing of it is said", () => {
	for (const password of ["hunter2", "hun,ter2", "hun ter2"]) {
		const problem = parseBindings(`postgres://a postgres://me:${password}@b`);
		expect(problem).toContain("Its entry 2 is no binding.");
		expect(problem).not.toMatch(/hun|me:/);
	}
});

test("an annotation that is longer than people write is read by nobody", () => {
	const many = "postgres://a,".repeat(400);
	expect(parseBindings(many)).toContain("5200 characters");
});

test.each([
	["postgres://db.example.com", "postgres://DB.EXAMPLE.com"],
	["postgres://db.example.com", "postgres://db.example.com."],
	["postgres://db.example.com.", "postgres://db.example.com"],
	["postgres://db", "postgres://db:5432"],
	["postgres://[::1]", "postgres://[0:0:0:0:0:0:0:1]"],
	["postgres://[::ffff:10.0.0.1]", "postgres://[::ffff:a00:1]"],
	["https://ch", "https://ch:443"],
	["https://ch:8443", "https://ch:8443/"],
	["postgres://db", "postgres://db.shop"],
	["postgres://db", "postgres://db.shop.svc"],
	["postgres://db", "postgres://db.shop.svc.cluster.local"],
	["postgres://db", "postgres://db.shop.svc.cluster.local."],
	["postgres://db.shop.svc.cluster.local", "postgres://db"],
	["postgres://db.data", "postgres://db.data.svc"],
	["postgres://db.data.svc", "postgres://db.data.svc.cluster.local"],
	["http://ch.data.svc:8123", "http://ch.data:8123"],
])("what is bound to %s may go to %s", (bound, target) => {
	expect(isBoundTo(bound, target)).toBe(true);
});

test.each([
	["another host", "postgres://db", "postgres://evil"],
	[
		"a host that begins with it",
		"postgres://db.example.com",
		"postgres://db.example.com.evil.com",
	],
	[
		"a host that ends with it",
		"postgres://db.example.com",
		"postgres://evil.db.example.com",
	],
	["another port", "postgres://db", "postgres://db:5433"],
	["another default port", "https://ch:8443", "https://ch"],
	["another protocol", "postgres://db:443", "https://db:443"],
	["a Service of another namespace", "postgres://db", "postgres://db.data"],
	[
		"a Service of the same name as a domain",
		"postgres://acme.io.",
		"postgres://acme.io.svc",
	],
	[
		"a domain of the same name as a Service",
		"postgres://db.data.svc",
		"postgres://db.data.",
	],
	[
		"a Pod behind the Service",
		"postgres://db",
		"postgres://pod-0.db.shop.svc.cluster.local",
	],
	[
		"another cluster's Service",
		"postgres://db",
		"postgres://db.shop.svc.other.local",
	],
	[
		"an address that looks like a Service",
		"postgres://10.1",
		"postgres://10.1.svc",
	],
	["less TLS", "postgres+verify-full://db", "postgres+verify-ca://db"],
	["none of it", "https://ch:8123", "http://ch:8123"],
	["other authorities", "postgres://db", "postgres://db?ca=mine"],
	[
		"other authorities than the named",
		"postgres://db?ca=theirs",
		"postgres://db?ca=mine",
	],
	[
		"public authorities where some are named",
		"postgres+verify-ca://db?ca=theirs",
		"postgres+verify-ca://db",
	],
	["other authorities by https", "https://ch", "https://ch?ca=mine"],
])("%s: what is bound to %s may not go to %s", (_, bound, target) => {
	expect(isBoundTo(bound, target)).toBe(false);
});

test("with the cluster's own domain, a Service has that one", () => {
	const own = { namespace: "shop", clusterDomain: "Corp.Example." };
	const whole = "postgres://db.shop.svc.corp.example";
	expect(isBoundTo("postgres://db", whole, own)).toBe(true);
	expect(
		isBoundTo("postgres://db", "postgres://db.shop.svc.cluster.local", own),
	).toBe(false);
});

test("TLS may be more than the least, and never less", () => {
	for (const [least, bound] of tlsModes.entries())
		for (const [has, target] of tlsModes.entries())
			expect(
				isBoundTo(`postgres+${bound}://db`, `postgres+${target}://db`),
				`${bound} ${target}`,
			).toBe(has >= least);
	expect(isBoundTo("http://ch:8443", "https://ch:8443")).toBe(true);
});

test("authorities that the Secret doesn't name are worth no more than encryption", () => {
	for (const target of ["verify-ca", "verify-full"]) {
		const mine = `postgres+${target}://db?ca=mine`;
		expect(isBoundTo("postgres+require://db", mine)).toBe(true);
		expect(isBoundTo("postgres+verify-ca://db", mine)).toBe(false);
		expect(isBoundTo(`postgres+${target}://db?ca=mine`, mine)).toBe(true);
	}
});

const bound = (
	data: Record<string, string>,
	{
		hosts,
		scheme = "postgres",
		reached,
	}: { hosts?: string; scheme?: Scheme; reached?: string } = {},
) => {
	const found = bindingsOf(
		{ hosts, value: (key) => data[key] },
		scheme,
		names,
		reached === undefined ? undefined : binding(reached),
	);
	return typeof found === "string" ? found : found.map(bindingText);
};

const user = { username: "app", password: "hunter2" };
const cloudNativePG = {
	...user,
	user: "app",
	dbname: "app",
	host: "cluster-rw",
	port: "5432",
	uri: "postgresql://app:hunter2@cluster-rw.shop:5432/app",
	"jdbc-uri":
		"jdbc:postgresql://cluster-rw.shop:5432/app?password=hunter2&user=app",
	"fqdn-uri":
		"postgresql://app:hunter2@cluster-rw.shop.svc.cluster.local:5432/app",
	pgpass: "cluster-rw:5432:app:app:hunter2\n",
};

test.each<[string, Parameters<typeof bound>, string[]]>([
	["says nothing", [user], []],
	["an empty annotation says nothing", [user, { hosts: "" }], []],
	["a host", [{ ...user, host: "db" }], ["postgres+verify-full://db:5432"]],
	[
		"a host and a port",
		[{ ...user, host: "DB", port: "6432" }],
		["postgres+verify-full://db:6432"],
	],
	[
		"a word of TLS",
		[{ ...user, host: "db", sslmode: "require" }],
		["postgres+require://db:5432"],
	],
	[
		"a word that is none",
		[{ ...user, host: "db", sslmode: "prefer" }],
		["postgres+verify-full://db:5432"],
	],
	["a host that is none", [{ ...user, host: "a,b" }], []],
	[
		"a URL",
		[{ uri: "postgres://app:pass%40word@db:6432/x?sslmode=verify-ca" }],
		["postgres+verify-ca://db:6432"],
	],
	[
		"a URL of something else",
		[{ ...user, url: "https://grafana.example.com/" }],
		[],
	],
	[
		"CloudNativePG's",
		[cloudNativePG],
		[
			"postgres+verify-full://cluster-rw:5432",
			"postgres+verify-full://cluster-rw.shop:5432",
			"postgres+verify-full://cluster-rw.shop.svc.cluster.local:5432",
		],
	],
	[
		"the annotation, beside the host",
		[
			{ ...user, host: "db" },
			{ hosts: "postgres+require://pooler, https://ch" },
		],
		["postgres+require://pooler:5432", "postgres+verify-full://db:5432"],
	],
	[
		"ClickHouse's host",
		[{ ...user, host: "ch" }, { scheme: "http" }],
		["https://ch:8443"],
	],
	[
		"ClickHouse's host and port",
		[{ ...user, host: "ch", port: "443" }, { scheme: "http" }],
		["https://ch:443"],
	],
	[
		"ClickHouse's URL",
		[{ ...user, url: "http://ch:8123/" }, { scheme: "http" }],
		["http://ch:8123"],
	],
	[
		"ClickHouse's URL without a port",
		[{ ...user, url: "https://ch" }, { scheme: "http" }],
		["https://ch:443"],
	],
])("where a Secret may go: %s", (_, of, expected) => {
	expect(bound(...of)).toEqual(expected);
});

test("a Secret with a host and no word of TLS binds what the last good check had, too", () => {
	const host = { ...user, host: "db" };
	const full = "postgres+verify-full://db:5432";
	const reached = "postgres+verify-full://db.shop.svc:5432?ca=cluster-ca";
	expect(bound(host, { reached })).toEqual([full, `${full}?ca=cluster-ca`]);
	expect(bound(host, { reached: "postgres+disable://db" })).toEqual([
		full,
		"postgres+disable://db:5432",
	]);
	expect(bound(host, { scheme: "http", reached: "http://db:8123" })).toEqual([
		"https://db:8443",
		"http://db:8123",
	]);
	for (const other of [
		"postgres+disable://evil",
		"postgres+disable://db:5433",
		"http://db:5432",
	])
		expect(bound(host, { reached: other })).toEqual([full]);
	expect(
		bound(
			{ ...host, sslmode: "verify-full" },
			{ reached: "postgres+disable://db" },
		),
	).toEqual([full]);
});

test("what nobody can read binds nothing, and is told", () => {
	expect(bound({ ...user, host: "db" }, { hosts: "db:5432" })).toContain(
		"Its entry 1 is no binding.",
	);
});

test.each([
	["Db", "db"],
	["[::1]", "::1"],
	["0:0::1", "::1"],
	["db.", "db."],
	["_db_", "_db_"],
	["-db", undefined],
	["d b", undefined],
	["db\r\nevil", undefined],
	["::1%lo", undefined],
	["", undefined],
	[".", undefined],
])("host %j is %j", (text, host) => {
	expect(hostIn(text)).toBe(host);
});
