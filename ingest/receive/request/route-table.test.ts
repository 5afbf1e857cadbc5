import { hash } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import {
	type Route,
	routeKey,
	syncedKey,
} from "../../../packages/contracts/route.ts";
import {
	SealKey,
	type SecretSealer,
} from "../../../packages/service/seal-key.ts";
import { isAuthorized } from "./credentials.ts";
import { refusals } from "./refusal.ts";
import { findSource, RouteTable } from "./route-table.ts";

let table: RouteTable;
const key = (name: string) => routeKey(name);
const route = (source: string) =>
	JSON.stringify({
		version: 1,
		source,
		authorization: { type: "None" },
	} as Route);
const read = (...names: string[]) => {
	table.begin();
	for (const name of names)
		table.set(name === syncedKey ? name : key(name), route(name));
	table.complete();
};

beforeEach(() => {
	table = new RouteTable();
});

test("before the bucket is read the table is empty and not synced", () => {
	expect(table.isSynced).toBe(false);
	expect(table.find("a")).toBeUndefined();
});

test("routes are served before operator marks the bucket complete", () => {
	read("a");
	expect(table.find("a")?.source).toBe("a");
	expect(table.isSynced).toBe(false);
	table.set(syncedKey, "x");
	expect(table.isSynced).toBe(true);
});

test("while a cluster is restored receive is ready, serves what it has, and refuses no unknown URL for good", () => {
	const isUnknown = () =>
		findSource(`/hooks/${"b".repeat(32)}/${"c".repeat(32)}`, table);
	read("a", syncedKey);
	expect(isUnknown()).toBe(refusals.UnknownURL);
	table.set(syncedKey, JSON.stringify({ cluster: "1", isRestoring: true }));
	expect([table.isSynced, isUnknown()]).toEqual([true, refusals.NotReady]);
	expect(table.find("a")?.source).toBe("a");
	table.set(syncedKey, JSON.stringify({ cluster: "2" }));
	expect(isUnknown()).toBe(refusals.UnknownURL);
});

test("a change takes effect at once", () => {
	read("a", syncedKey);
	table.set(key("b"), route("b2"));
	table.set(key("a"), undefined);
	expect(table.find("b")?.source).toBe("b2");
	expect(table.find("a")).toBeUndefined();
});

test("a new reading replaces the table when it is complete, and not before", () => {
	read("a", "b", syncedKey);
	table.begin();
	table.set(syncedKey, "x");
	table.set(key("b"), route("b2"));
	expect(table.find("a")?.source).toBe("a");
	expect(table.find("b")?.source).toBe("b");
	table.complete();
	expect(table.find("a")).toBeUndefined();
	expect(table.find("b")?.source).toBe("b2");
});

test("a bucket that lost its content removes no route until it is marked complete again", () => {
	read("a", syncedKey);
	read();
	expect(table.isSynced).toBe(true);
	expect(table.find("a")?.source).toBe("a");
	table.set(key("b"), route("b"));
	expect(table.find("b")).toBeUndefined();
	table.set(syncedKey, "x");
	expect(table.find("a")).toBeUndefined();
	expect(table.find("b")?.source).toBe("b");
});

test("a route of an unknown version is refused", () => {
	table.begin();
	expect(() => table.set(key("a"), '{"version":2}')).toThrow("version 2");
});

test("a Source whose new signing secrets can't be opened is not served with the old ones", () => {
	const sealKey = new SealKey(Buffer.alloc(32, 1));
	const sealedBy = (seal: SealKey) =>
		JSON.stringify({
			version: 1,
			sourceKey: "a",
			authorization: {
				type: "Signature",
				keys: [{ algorithm: "HMAC", sealed: seal.seal(Buffer.from("x"), "a") }],
			},
		});
	for (const [own, other] of [
		[undefined, sealKey],
		[sealKey, new SealKey(Buffer.alloc(32, 2))],
	] as const) {
		table = new RouteTable(own);
		read("a", syncedKey);
		expect(() => table.set(key("a"), sealedBy(other))).toThrow();
		expect(table.find("a")?.authorization.type).toBe("Signature");
		expect(table.find("a")?.signingKeys).toBeUndefined();
	}
	table.set(key("a"), sealedBy(sealKey));
	expect(table.find("a")?.signingKeys).toHaveLength(1);
});

/** The Source "a", found by its URL. */
const foundSource = () => ({
	route: table.find("a")!,
	address: {
		sourceKey: "a",
		urlKey: "u",
		token: undefined,
		query: undefined,
	},
});

test("the Source of a URL is remembered until the routes change", () => {
	read("a", syncedKey);
	const remember = () => {
		const known = foundSource();
		table.remember("/a/u", known);
		expect(table.remembered("/a/u")).toBe(known);
	};
	remember();
	expect(table.remembered("/a/v")).toBeUndefined();
	table.set(key("a"), route("a"));
	expect(table.remembered("/a/u")).toBeUndefined();

	remember();
	table.set(key("a"), undefined);
	expect(table.remembered("/a/u")).toBeUndefined();

	// A new reading in which only a Source is missing.
	read("a", syncedKey);
	table.begin();
	table.set(syncedKey, "x");
	remember();
	table.complete();
	expect(table.remembered("/a/u")).toBeUndefined();
});

test("the number of remembered URLs is bounded", () => {
	read("a", syncedKey);
	const known = foundSource();
	const urls = Array.from({ length: 30_000 }, (_, number) => `/a/${number}`);
	for (const url of urls) table.remember(url, known);
	expect(table.remembered(urls.at(-1)!)).toBe(known);
	expect(
		urls.filter((url) => table.remembered(url)).length,
	).toBeLessThanOrEqual(10_000);
});

test("who reads the routes can't try out tokens: a digest is compared under the seal key, and without it nothing is accepted", () => {
	const sealKey = new SealKey(Buffer.alloc(32, 1));
	const digest = sealKey.digest("sixteen-bytes-ok", "a");
	const withDigest = (digest: string) =>
		JSON.stringify({
			version: 1,
			sourceKey: "a",
			authorization: { type: "CustomToken", digests: [digest] },
		});
	const isAccepted = (table: RouteTable) =>
		isAuthorized(table.find("a")!, {}, "sixteen-bytes-ok");

	const table = new RouteTable(sealKey);
	table.set(key("a"), withDigest(hash("sha256", "sixteen-bytes-ok")));
	expect(isAccepted(table)).toBe(false);
	table.set(key("a"), withDigest(digest));
	expect(isAccepted(table)).toBe(true);

	const keyless = new RouteTable();
	expect(() => keyless.set(key("a"), withDigest(digest))).toThrow(
		/TIDEMILL_SEAL_KEY/,
	);
	expect(isAccepted(keyless)).toBe(false);
});

test("a Source whose token another seal key has digested is served by that key, and once it is known", () => {
	const [former, next] = [1, 2].map(
		(byte) => new SealKey(Buffer.alloc(32, byte)),
	) as [SealKey, SealKey];
	const ring = { all: [former] };
	const sealer: SecretSealer = {
		get all() {
			return ring.all;
		},
		get current() {
			return ring.all[0]!;
		},
		named: (id) => {
			const found = ring.all.find((key) => key.id === id);
			if (!found) throw new Error("unknown");
			return found;
		},
		open: () => Buffer.alloc(0),
	};
	const table = new RouteTable(sealer);
	const set = (sealKey: SealKey) =>
		table.set(
			key("a"),
			JSON.stringify({
				version: 1,
				sourceKey: "a",
				authorization: {
					type: "CustomToken",
					digests: [sealKey.digest("sixteen-bytes-ok", "a")],
					sealKeyId: sealKey.id,
				},
			}),
		);
	const isAccepted = () =>
		isAuthorized(table.find("a")!, {}, "sixteen-bytes-ok");
	expect(() => set(next)).toThrow();
	expect(isAccepted()).toBe(false);
	ring.all = [former, next];
	table.sealKeysChanged();
	expect(isAccepted()).toBe(true);
	// Until operator has digested it anew, what the former key has digested is served.
	set(former);
	ring.all = [next];
	table.sealKeysChanged();
	expect(isAccepted()).toBe(true);
});

test("a closed source key has no route, in a reading and after a change", () => {
	table = new RouteTable(undefined, undefined, ["a"]);
	read("a", "b", syncedKey);
	expect(table.find("a")).toBeUndefined();
	expect(table.find("b")).toBeDefined();
	table.set(key("a"), route("a2"));
	expect(table.find("a")).toBeUndefined();
});

test.each([
	{ signedString: "{body}{nonce}" },
	{ algorithm: "ML-DSA" },
	{ timestampFormat: "TAI64" },
])(
	"a route with a signature of a later version accepts nothing: %j",
	(later) => {
		const sealKey = new SealKey(Buffer.alloc(32, 1));
		const table = new RouteTable(sealKey);
		const set = (custom: object) =>
			table.set(
				key("a"),
				JSON.stringify({
					version: 1,
					sourceKey: "a",
					authorization: {
						type: "Signature",
						scheme: "Custom",
						keys: [
							{
								algorithm: "HMAC",
								sealed: sealKey.seal(Buffer.from("x"), "a"),
							},
						],
						custom: {
							header: "x-signature",
							algorithm: "SHA256",
							encoding: "Hex",
							signedString: "{body}",
							...custom,
						},
					},
				}),
			);
		set({});
		table.begin();
		expect(() => set(later)).toThrow("upgrade receive before operator");
		table.complete();
		expect(table.find("a")).toMatchObject({ sourceKey: "a" });
		expect(table.find("a")!.signingKeys).toBeUndefined();
	},
);
