import { once } from "node:events";
import {
	type AddressInfo,
	connect,
	createServer,
	type LookupFunction,
} from "node:net";
import { expect, test } from "vitest";
import {
	checkedLookup,
	HostRefused,
	hostRules,
	requireHost,
} from "./checked-host.ts";

const inCluster = { allowsLoopback: false };
const local = { allowsLoopback: true };

test.each([
	["127.0.0.1", "loopback"],
	["127.8.9.1", "loopback"],
	["::1", "loopback"],
	["[::1]", "loopback"],
	["::ffff:127.0.0.1", "loopback"],
	["169.254.169.254", "metadata"],
	["::ffff:169.254.169.254", "metadata"],
	["64:ff9b::a9fe:a9fe", "metadata"],
	["fd00:ec2::254", "metadata"],
	["100.100.100.200", "metadata"],
	["168.63.129.16", "metadata"],
	["169.254.1.1", "link-local"],
	["fe80::1", "link-local"],
	["0.0.0.0", "no single host"],
	["::", "no single host"],
	["255.255.255.255", "no single host"],
	["ff02::1", "no single host"],
	["::ffff:0:10.0.0.7", "stands for another"],
	["::10.0.0.7", "stands for another"],
	["64:ff9b:1::a00:7", "stands for another"],
	["2002:a00:7::1", "stands for another"],
	["2001:0:a00:7::1", "stands for another"],
])("%s is refused: %s", (host, words) => {
	expect(() => requireHost(host, inCluster)).toThrow(words);
});

test.each([
	"10.0.0.7",
	"192.168.1.1",
	"203.0.113.5",
	"2001:db8::1",
	"fd12::1",
	"db.example.com",
])("%s is somebody's warehouse", (host) => {
	requireHost(host, inCluster);
});

test("local mode has warehouses on this machine, and no other refused address", () => {
	requireHost("127.0.0.1", local);
	expect(() => requireHost("169.254.169.254", local)).toThrow(HostRefused);
});

const bound = { namespace: "shop", clusterDomain: "cluster.local", to: [] };
const clusterNetworks = ["10.42.0.0/16", "fd42::/48"];
const looked = (host: string, address: string, networks = clusterNetworks) =>
	new Promise((done) =>
		checkedLookup(
			hostRules({ clusterNetworks: networks, bound }, host),
			answers(address),
		)(host, { all: true }, (error) => done(error?.message)),
	);

test.each([
	"db.example.com",
	"db.example.com.",
	"db.shop",
	"localtest.me",
	"db.shop.svc.example.com",
	"svc.cluster.local",
	"xsvc.cluster.local.evil.com",
	"db.",
])("%s doesn't lead into the cluster", async (host) => {
	for (const inside of [
		...["10.42.0.7", "::ffff:10.42.0.7", "64:ff9b::a2a:7", "fd42::7"],
	])
		expect(await looked(host, inside), inside).toContain("in the cluster");
	for (const outside of ["10.43.0.7", "203.0.113.5", "fd43::7"])
		expect(await looked(host, outside), outside).toBeUndefined();
	expect(await looked(host, "10.42.0.7", [])).toBeUndefined();
});

test.each([
	"db",
	"db.shop.svc",
	"DB.shop.svc",
	"db.shop.svc.cluster.local",
	"pod-0.db.shop.svc.cluster.local.",
	"10.42.0.7",
	"[fd42::7]",
])("%s, which a Secret names, does", async (host) => {
	expect(await looked(host, "10.42.0.7")).toBeUndefined();
	requireHost(host, hostRules({ clusterNetworks, bound }, host));
});

test("a metadata address is refused by whatever name", async () => {
	for (const host of ["db", "db.shop.svc", "db.example.com"])
		expect(await looked(host, "169.254.169.254", [])).toContain("metadata");
});

test("an address that no Secret binds isn't reached in the cluster", () => {
	const rules = hostRules({ clusterNetworks }, "10.42.0.7");
	expect(() => requireHost("10.42.0.7", rules)).toThrow("in the cluster");
});

const answers = (...addresses: string[]) =>
	((_: string, __: object, done: (e: null, all: object[]) => void) =>
		done(
			null,
			addresses.map((address) => ({ address, family: 4 })),
		)) as never;

test.each([[["169.254.169.254"]], [["203.0.113.5", "127.0.0.1"]]])(
	"a name is refused if one of its addresses is: %j",
	async (addresses) => {
		const lookup = checkedLookup(inCluster, answers(...addresses));
		const socket = connect({ host: "db.example.com", port: 5432, lookup });
		const [error] = await once(socket, "error");
		expect(error).toMatchObject({ code: "HOST_REFUSED" });
		expect(error.message).toContain("db.example.com");
	},
);

test("the address that was checked is the one connected to: nobody is asked again", async () => {
	const server = createServer((socket) => socket.end()).listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	let asked = 0;
	const resolve = ((name: string, options: object, done: never) => {
		asked++;
		return (answers("127.0.0.1") as LookupFunction)(name, options, done);
	}) as never;
	const socket = connect({
		host: "db.example.com",
		port,
		lookup: checkedLookup(local, resolve),
	});
	await once(socket, "connect");
	expect([asked, socket.remoteAddress]).toEqual([1, "127.0.0.1"]);
	socket.destroy();
	server.close();
});
