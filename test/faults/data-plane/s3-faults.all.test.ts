// In make test: packages/bucket/s3-object-store.test.ts
import { randomBytes, randomUUID } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ListMultipartUploadsCommand, S3Client } from "@aws-sdk/client-s3";
import pino from "pino";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import type { ObjectStoreSettings } from "../../../packages/bucket/s3-client.ts";
import { S3ObjectStore } from "../../../packages/bucket/s3-object-store.ts";
import { probeStore } from "../../../packages/bucket/store-probe.ts";
import {
	ArchiveFixture,
	newEvent,
} from "../../support/fixtures/data-plane/archive-fixture.ts";
import { log as runningLog } from "../../support/fixtures/data-plane/running-archive.ts";
import {
	type Disturbance,
	S3Proxy,
	type SeenRequest,
} from "../../support/proxies/s3-proxy.ts";
import {
	type Servers,
	startServers,
} from "../../support/servers/archive-servers.ts";
import { temporaryDirectory } from "../../support/servers/test-server.ts";

const log = pino({ level: "silent" });
const mib = 1024 * 1024;

let servers: Servers;
let directory: string;
/** Three parts, the last of them short. */
let largeFile: string;
beforeAll(async () => {
	servers = await startServers();
	directory = await temporaryDirectory("s3-faults");
	largeFile = join(directory, "large");
	await writeFile(largeFile, randomBytes(33 * mib));
});
afterAll(async () => {
	await servers?.stop();
	await rm(directory, { recursive: true });
});

async function storeBehindProxy(settings: Partial<ObjectStoreSettings> = {}) {
	const { s3 } = servers;
	const proxy = await S3Proxy.start(s3);
	onTestFinished(() => proxy.close());
	const store = new S3ObjectStore(
		{
			bucket: s3.bucket,
			region: s3.region,
			endpoint: proxy.endpoint,
			forcePathStyle: true,
			...settings,
		},
		new AbortController().signal,
	);
	onTestFinished(() => store.close());
	return { proxy, store, key: `test-${randomUUID()}` };
}

/** Disturbs the first requests that are of this kind, one by each; then no more. */
function disturb(
	proxy: S3Proxy,
	isMeant: (request: SeenRequest) => boolean,
	...disturbances: Disturbance[]
): void {
	proxy.disturb = (request) =>
		isMeant(request) ? disturbances.shift() : undefined;
}

const isPut = ({ method }: SeenRequest) => method === "PUT";
const isGet = ({ method }: SeenRequest) => method === "GET";
const isCompletion = ({ method, query }: SeenRequest) =>
	method === "POST" && query.has("uploadId");

test.each<[string, Disturbance[]]>([
	["503 SlowDown", [{ status: 503, code: "SlowDown" }]],
	["500 InternalError", [{ status: 500, code: "InternalError" }]],
	[
		"409, twice",
		Array(2).fill({ status: 409, code: "ConditionalRequestConflict" }),
	],
	["a success whose answer is lost", ["answer lost"]],
	["a success and then silence", ["silence"]],
	["a proxy that repeats it", ["sent twice"]],
])("a write that meets %s is repeated, and was ours", async (_, what) => {
	const { proxy, store, key } = await storeBehindProxy(
		what.includes("silence") ? { timeoutMs: 5_000 } : {},
	);
	disturb(proxy, isPut, ...what);
	expect(await store.putNew(key, "ours", "text/plain")).toBe("created");
	const attempts = what.includes("sent twice") ? 1 : what.length + 1;
	expect(proxy.of("PUT").length).toBeGreaterThanOrEqual(attempts);
	expect(await store.get(key)).toBe("ours");
	expect(await store.putNew(key, "theirs", "text/plain")).toBe("exists");
});

test("a cut whose record a proxy repeats is this archiver's, and not a rival's", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { prefix } = archive;
	const { proxy, store } = await storeBehindProxy({ prefix });
	const info = vi.spyOn(runningLog, "info");
	const { flush } = await archive.start({ wrapStore: () => store });
	for (const body of ["1", "2"]) {
		disturb(proxy, ({ path }) => path.includes("/cuts/"), "sent twice");
		await archive.publish([newEvent(body)]);
		await flush();
	}
	const cuts = proxy.of("PUT").filter(({ path }) => path.includes("/cuts/"));
	expect(cuts).toHaveLength(2);
	const said = info.mock.calls.map(([, message]) => message);
	expect(said).toContain("archiving the shard");
	expect(said).not.toContain("another archiver is at work; standing by");
});

test("a repeated write that finds another's object says so", async () => {
	const { proxy, store, key } = await storeBehindProxy();
	await store.putNew(key, "theirs", "text/plain");
	disturb(proxy, isPut, "answer lost");
	expect(await store.putNew(key, "ours", "text/plain")).toBe("exists");
	expect(await store.get(key)).toBe("theirs");
});

test("every write carries a checksum; one that arrives changed is refused, and sent again once", async () => {
	const { proxy, store, key } = await storeBehindProxy();
	const content = "x".repeat(99);
	proxy.disturb = (request) =>
		isPut(request) ? "request corrupted" : undefined;
	await expect(store.putNew(key, content, "text/plain")).rejects.toThrow(
		`could not write ${key}`,
	);
	expect(await store.get(key)).toBeUndefined();
	const again = await storeBehindProxy();
	disturb(again.proxy, isPut, "request corrupted");
	expect(await again.store.putNew(again.key, content, "text/plain")).toBe(
		"created",
	);
	expect(await again.store.get(again.key)).toBe(content);
	for (const { headers } of [...proxy.of("PUT"), ...again.proxy.of("PUT")])
		expect(headers).toHaveProperty("x-amz-checksum-crc32");
});

test.each<Disturbance>(["answer corrupted", "answer cut short"])(
	"a read with its %s is repeated",
	async (what) => {
		const { proxy, store, key } = await storeBehindProxy();
		await store.putNew(key, "content", "text/plain");
		disturb(proxy, isGet, what);
		expect(await store.get(key)).toBe("content");
		expect(proxy.of("GET").length).toBe(2);
		proxy.disturb = (request) => (isGet(request) ? what : undefined);
		await expect(store.get(key)).rejects.toThrow(`could not read ${key}`);
	},
);

test("a large file is sent in parts, once, and comes back as it was", async () => {
	const { proxy, store, key } = await storeBehindProxy();
	expect(await store.putNewFile(key, largeFile, "x/y")).toBe("created");
	expect(proxy.of("PUT").map(({ query }) => query.get("partNumber"))).toEqual([
		"1",
		"2",
		"3",
	]);
	const [completion] = proxy.requests.filter(isCompletion);
	expect(completion!.headers["if-none-match"]).toBe("*");
	const other = join(directory, "other-large");
	await writeFile(other, randomBytes(17 * mib));
	expect(await store.putNewFile(key, other, "x/y")).toBe("exists");
	expect(await uploads(key)).toBe(0);
	const back = join(directory, "back");
	expect(await store.getFile(key, back)).toMatch(/^[0-9a-f]{64}$/);
	expect((await readFile(back)).equals(await readFile(largeFile))).toBe(true);
	expect(await store.getFile(`${key}-missing`, back)).toBeUndefined();
});

test.each<Disturbance>([
	"answer lost",
	"sent twice",
	{ status: 503, code: "SlowDown" },
])("an object in parts is ours when its completion meets %j", async (what) => {
	const { proxy, store, key } = await storeBehindProxy();
	disturb(proxy, isCompletion, what);
	expect(await store.putNewFile(key, largeFile, "x/y")).toBe("created");
	expect(await uploads(key)).toBe(0);
});

test("an upload that fails in the middle is aborted at once, and one that a killed process left later", async () => {
	const { proxy, store, key } = await storeBehindProxy();
	const isSecondPart = ({ query }: SeenRequest) =>
		query.get("partNumber") === "2";
	disturb(proxy, isSecondPart, { status: 403, code: "AccessDenied" });
	await expect(store.putNewFile(key, largeFile, "x/y")).rejects.toThrow(
		"AccessDenied",
	);
	expect(await uploads(key)).toBe(0);
	// As if it had died: neither completed nor aborted.
	proxy.disturb = (request) =>
		request.method === "DELETE" || isSecondPart(request)
			? { status: 403, code: "AccessDenied" }
			: undefined;
	await expect(store.putNewFile(key, largeFile, "x/y")).rejects.toThrow();
	expect(await uploads(key)).toBe(1);
	proxy.disturb = () => undefined;
	expect(await store.abortUploads(key, Date.now() - 3_600_000)).toBe(0);
	expect(await uploads(key)).toBe(1);
	expect(await store.abortUploads(key, Date.now() + 3_600_000)).toBe(1);
	expect(await uploads(key)).toBe(0);
});

async function uploads(prefix: string): Promise<number> {
	const { bucket, region, endpoint } = servers.s3;
	const client = new S3Client({ region, endpoint, forcePathStyle: true });
	const { Uploads = [] } = await client.send(
		new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix }),
	);
	client.destroy();
	return Uploads.length;
}

test.each<[string, (request: SeenRequest) => boolean, string]>([
	[
		"read",
		(request) => isGet(request) && request.query.get("list-type") === null,
		"could not read",
	],
	["list", ({ query }) => query.get("list-type") !== null, "could not list"],
	["write", isPut, "could not write"],
	["delete", ({ query }) => query.has("delete"), "could not delete"],
])(
	"at the start, a missing permission to %s is named",
	async (_, isMeant, action) => {
		const { proxy, store, key } = await storeBehindProxy();
		await probeStore(store, key, log);
		proxy.disturb = (request) =>
			isMeant(request) ? { status: 403, code: "AccessDenied" } : undefined;
		const probe = probeStore(store, key, log);
		await expect(probe).rejects.toThrow(action);
		await expect(probe).rejects.toThrow("Allow archive's credentials s3:");
	},
);

test("a store without conditions on multipart uploads gets objects whole", async () => {
	const { proxy, store, key } = await storeBehindProxy();
	disturb(proxy, isCompletion, { status: 501, code: "NotImplemented" });
	await probeStore(store, key, log);
	proxy.requests.length = 0;
	const large = `${key}-large`;
	expect(await store.putNewFile(large, largeFile, "x/y")).toBe("created");
	expect(proxy.requests.map(({ method }) => method)).not.toContain("POST");
	// Small, since the gateway resets a large request that it refuses, and with other content, since it accepts its own again.
	const other = join(directory, "other");
	await writeFile(other, "other");
	expect(await store.putNewFile(large, other, "x/y")).toBe("exists");
});

test("every object is asked to be encrypted as the settings say", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { proxy, store, key } = await storeBehindProxy({
		prefix: archive.prefix,
		encryption: {
			algorithm: "aws:kms",
			kmsKeyId: "arn:aws:kms:key",
			bucketKey: true,
		},
	});
	const { flush } = await archive.start({ wrapStore: () => store });
	await archive.publish([newEvent("1")]);
	await flush();
	await archive.ask({
		run: randomUUID(),
		account: "shop",
		sourceKey: "5a".repeat(16),
	});
	await store.putNewFile(key, largeFile, "x/y");
	const begun = proxy.requests.filter(
		({ method, query }) =>
			(method === "PUT" && !query.has("partNumber")) ||
			(method === "POST" && query.has("uploads")),
	);
	for (const folder of ["/events/", "/cuts/", "/runs/", key])
		expect(
			begun.some(({ path }) => path.includes(folder)),
			folder,
		).toBe(true);
	for (const { headers } of begun)
		expect(headers).toMatchObject({
			"x-amz-server-side-encryption": "aws:kms",
			"x-amz-server-side-encryption-aws-kms-key-id": "arn:aws:kms:key",
			"x-amz-server-side-encryption-bucket-key-enabled": "true",
		});
});

test.each([
	[{ forcePathStyle: false }, "https://bucket.s3.eu-north-1.amazonaws.com/k?"],
	[{ forcePathStyle: true }, "https://s3.eu-north-1.amazonaws.com/bucket/k?"],
	[
		{ forcePathStyle: false, endpoint: "https://s3.example.com" },
		"https://bucket.s3.example.com/k?",
	],
	[
		{ forcePathStyle: true, endpoint: "https://s3.example.com:9000" },
		"https://s3.example.com:9000/bucket/k?",
	],
])("%j addresses the bucket right", async (settings, start) => {
	const store = new S3ObjectStore(
		{ bucket: "bucket", region: "eu-north-1", ...settings },
		new AbortController().signal,
	);
	expect(await store.presign("k", 60)).toMatch(start);
	store.close();
});
