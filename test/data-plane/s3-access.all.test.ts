// In make test: packages/bucket/store-settings.test.ts
import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { ensurePki } from "../../local/servers/pki.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { utcDate } from "../../packages/contracts/utc-date.ts";
import { startSts } from "../support/doubles/sts.ts";
import { startArchiveProcess } from "../support/faults/archive-process.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import { loadFixture } from "../support/fixtures/data-plane/load-fixture.ts";
import { S3Proxy } from "../support/proxies/s3-proxy.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";
import { s3Domain } from "../support/servers/servers.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";
import { startTidemill } from "../support/servers/tidemill-process.ts";

const account = "shop";
const receivedAtMs = Date.now();

let servers: Servers;
let directory: string;
beforeAll(async () => {
	servers = await startServers();
	directory = await temporaryDirectory("s3-access");
});
afterAll(async () => {
	await servers?.stop();
	await rm(directory, { recursive: true });
});

/** The gateway behind the certificate of a private authority. */
async function startPrivate() {
	const { apiserver: tls, ca } = await ensurePki(join(directory, "pki"));
	const proxy = await S3Proxy.start(servers.s3, tls);
	onTestFinished(() => proxy.close());
	return { proxy, tls, caFile: ca.certFile };
}

test("with S3_CA_FILE, events reach a store of a private authority, and a Run's Job gets them from it", async () => {
	const { proxy, caFile } = await startPrivate();
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	await startArchiveProcess(archive, {
		S3_ENDPOINT: proxy.endpoint,
		S3_CA_FILE: caFile,
	});
	await archive.publish([newEvent("1", { account, sourceKey, receivedAtMs })]);
	await eventually(async () => expect(await archive.bodies()).toEqual(["1"]));

	const run = randomUUID();
	const answer = await archive.ask({ run, account, sourceKey });
	if (!answer.ok) throw new Error(answer.error.message);
	expect(answer.url).toMatch(proxy.endpoint);
	const fixture = await loadFixture();
	const manifest = { run } as Manifest;
	const input = { manifestURL: answer.url };
	const distrusting = await fixture.load(manifest, { input });
	expect(distrusting.result).toMatchObject({
		error: { code: "ManifestUnavailable" },
	});
	const { authorities } = answer;
	const { exitCode, log } = await fixture.load(manifest, {
		input: { ...input, authorities: authorities! },
	});
	expect(exitCode, log).toBe(0);
	expect(await fixture.rows("select body, date from orders")).toEqual([
		["1", utcDate(receivedAtMs)],
	]);
});

test("with S3_FORCE_PATH_STYLE=false the host name has the bucket, for archive and in the links of a Run's Job", async () => {
	const { bucket, endpoint } = servers.s3;
	const { port } = new URL(endpoint);
	const preload = join(
		import.meta.dirname,
		"../support/faults/loopback-names.ts",
	);
	const env = { NODE_OPTIONS: `--import=${preload}` };
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	await startArchiveProcess(archive, {
		...env,
		S3_ENDPOINT: `http://${s3Domain}:${port}`,
		S3_FORCE_PATH_STYLE: "false",
	});
	await archive.publish([newEvent("1", { account, sourceKey, receivedAtMs })]);
	await eventually(async () => expect(await archive.bodies()).toEqual(["1"]));

	const run = randomUUID();
	const answer = await archive.ask({ run, account, sourceKey });
	if (!answer.ok) throw new Error(answer.error.message);
	const { host, pathname } = new URL(answer.url);
	expect(host).toBe(`${bucket}.${s3Domain}:${port}`);
	expect(pathname).not.toContain(bucket);
	const fixture = await loadFixture();
	const { exitCode, log } = await fixture.load({ run } as Manifest, {
		input: { manifestURL: answer.url },
		env,
	});
	expect(exitCode, log).toBe(0);
	expect(await fixture.rows("select body, date from orders")).toEqual([
		["1", utcDate(receivedAtMs)],
	]);
});

test("with S3_CA_FILE, the command that reads the bucket trusts a private authority, too", async () => {
	const { proxy, caFile } = await startPrivate();
	const archive = await ArchiveFixture.open(servers);
	const { exitCode, stderr } = await startTidemill(["ledger", "rebuild"], {
		...archive.env(),
		S3_ENDPOINT: proxy.endpoint,
		S3_CA_FILE: caFile,
	}).ended;
	expect(exitCode, stderr).toBe(0);
});

test("without S3_CA_FILE, the log and /readyz name it", async () => {
	const { proxy } = await startPrivate();
	const archive = await ArchiveFixture.open(servers);
	const { readyz } = await startArchiveProcess(archive, {
		S3_ENDPOINT: proxy.endpoint,
	});
	await eventually(async () => expect(await readyz()).toContain("S3_CA_FILE"));
});

test("temporary credentials are sent with their session token", async () => {
	const { s3 } = servers;
	const proxy = await S3Proxy.start(s3);
	onTestFinished(() => proxy.close());
	const archive = await ArchiveFixture.open(servers);
	const { sourceKey } = archive;
	const expiresAt = Date.now() + 1_800_000;
	await startArchiveProcess(archive, {
		S3_ENDPOINT: proxy.endpoint,
		AWS_SESSION_TOKEN: "a-session",
		AWS_CREDENTIAL_EXPIRATION: new Date(expiresAt).toISOString(),
	});
	await archive.publish([newEvent("1", { account, sourceKey, receivedAtMs })]);
	await eventually(async () => expect(await archive.bodies()).toEqual(["1"]));
	for (const { headers } of proxy.requests)
		expect(headers["x-amz-security-token"]).toBe("a-session");

	// A link ends with the credentials that signed it.
	const answer = await archive.ask({ run: randomUUID(), account, sourceKey });
	if (!answer.ok) throw new Error(answer.error.message);
	expect(Date.parse(answer.expiresAt)).toBeLessThanOrEqual(expiresAt);
	expect(new URL(answer.url).searchParams.get("X-Amz-Security-Token")).toBe(
		"a-session",
	);
});

test("a role of the service account is used, and its token is read again before the credentials expire", async () => {
	const { proxy, tls, caFile } = await startPrivate();
	// The SDK renews what ends within five minutes.
	const sts = await startSts(tls, servers.s3, 60);
	onTestFinished(() => sts.close());
	const tokenFile = join(directory, "token");
	await writeFile(tokenFile, "first");
	const archive = await ArchiveFixture.open(servers);
	await startArchiveProcess(archive, {
		S3_ENDPOINT: proxy.endpoint,
		S3_CA_FILE: caFile,
		AWS_ACCESS_KEY_ID: "",
		AWS_SECRET_ACCESS_KEY: "",
		AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/archive",
		AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
		AWS_ENDPOINT_URL_STS: sts.endpoint,
	});
	await archive.publish([newEvent("1")]);
	await eventually(async () => expect(await archive.bodies()).toEqual(["1"]));
	expect(sts.tokens[0]).toBe("first");
	expect(proxy.requests[0]!.headers["x-amz-security-token"]).toMatch(
		/^session-of-/,
	);
	await writeFile(tokenFile, "second");
	await archive.publish([newEvent("2")]);
	await eventually(() => expect(sts.tokens).toContain("second"));
	await eventually(async () =>
		expect(await archive.bodies()).toEqual(["1", "2"]),
	);
});

test("missing credentials are named", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { readyz } = await startArchiveProcess(archive, {
		AWS_ACCESS_KEY_ID: "",
		AWS_SECRET_ACCESS_KEY: "",
		AWS_EC2_METADATA_DISABLED: "true",
		// Not the profile of whoever runs the tests.
		AWS_SHARED_CREDENTIALS_FILE: join(directory, "none"),
		AWS_CONFIG_FILE: join(directory, "none"),
	});
	await eventually(async () => {
		const reason = await readyz();
		expect(reason).toContain("Could not load credentials");
		expect(reason).toContain("Set AWS_ACCESS_KEY_ID");
	});
});

test("a store that can't be reached is named", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { readyz } = await startArchiveProcess(archive, {
		S3_ENDPOINT: "http://127.0.0.1:1",
	});
	await eventually(async () => expect(await readyz()).toContain("S3_ENDPOINT"));
});
