// On a laptop nothing proves this: it needs disks or networks that only root makes.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { GetObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { ensurePki } from "../../../local/servers/pki.ts";
import { askArchive } from "../../../operator/reconcile/archive-question.ts";
import type { Manifest } from "../../../packages/contracts/manifest.ts";
import { deletionSubject } from "../../../packages/contracts/nats.ts";
import { createLog, linkErrorId } from "../../../packages/service/log.ts";
import { connectNats } from "../../../packages/service/nats/connection.ts";
import { Settings } from "../../../packages/service/settings.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../../support/fixtures/data-plane/archive-fixture.ts";
import { loadFixture } from "../../support/fixtures/data-plane/load-fixture.ts";
import { type Disturbance, S3Proxy } from "../../support/proxies/s3-proxy.ts";
import {
	type Servers,
	startServers,
} from "../../support/servers/archive-servers.ts";
import { startNats } from "../../support/servers/servers.ts";
import { temporaryDirectory } from "../../support/servers/test-server.ts";
import { startTidemill } from "../../support/servers/tidemill-process.ts";

/*
 * What fails in the platform is told to an account's people without the platform's names and addresses: what operator copies
 * into a status and an Event, and api into an answer, are the messages of these tests.
 */

const account = "shop";
let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

/** Nothing of the platform is in the text. */
function expectNothingOf(text: string, internals: string[]) {
	for (const internal of internals) expect(text).not.toContain(internal);
	expect(text).not.toMatch(/\b\d{1,3}(\.\d{1,3}){3}\b/);
	expect(text).not.toMatch(/https?:\/\//);
}

test.each<[string, "away" | Disturbance, string]>([
	["is away", "away", "ECONNREFUSED"],
	[
		"doesn't know the access key",
		{ status: 403, code: "InvalidAccessKeyId" },
		"InvalidAccessKeyId",
	],
	[
		"finds another signature",
		{ status: 403, code: "SignatureDoesNotMatch" },
		"SignatureDoesNotMatch",
	],
	["refuses the access", { status: 403, code: "AccessDenied" }, "AccessDenied"],
	[
		"has lost the bucket",
		{ status: 404, code: "NoSuchBucket" },
		"NoSuchBucket",
	],
])(
	"when the store %s, the answer has an id, and archive's log the reason under it",
	async (_, fault, reason) => {
		const proxy = await S3Proxy.start(servers.s3);
		onTestFinished(() => proxy.close());
		const archive = await ArchiveFixture.open(servers);
		const { sourceKey } = archive;
		const log: string[] = [];
		const process = startTidemill(["archive"], {
			...archive.env(),
			S3_ENDPOINT: proxy.endpoint,
		});
		process.onLine = (line) => log.push(line);
		onTestFinished(() => void process.child.kill("SIGKILL"));
		await archive.publish([newEvent("1", { account, sourceKey })]);
		await eventually(async () => expect(await archive.bodies()).toEqual(["1"]));
		if (fault === "away") await proxy.close();
		else proxy.disturb = () => fault;

		const run = randomUUID();
		const answer = await archive.ask({ run, account, sourceKey });
		if (answer.ok) throw new Error("the store is not in the way");
		const { message } = answer.error;
		const [, id] = /error ([0-9a-f]{8}) in the log of archive/.exec(message)!;
		expectNothingOf(message, [
			servers.s3.bucket,
			archive.prefix,
			new URL(proxy.endpoint).host,
			servers.s3.accessKeyId,
		]);
		// The answer may be faster than the line.
		await eventually(() => {
			const logged = log.find((line) => line.includes(`"${id}"`));
			expect(logged).toContain(reason);
			expect(logged).toContain(servers.s3.bucket);
		});
	},
);

test("a Job that can't reach its manifest says so in its result and its log without the link, the host or the bucket", async () => {
	const directory = await temporaryDirectory("withheld");
	const { apiserver: tls } = await ensurePki(join(directory, "pki"));
	const distrusted = await S3Proxy.start(servers.s3, tls);
	onTestFinished(() => distrusted.close());
	const path =
		"/secret-bucket/secret-prefix/runs/1.json?X-Amz-Signature=s3cret";
	for (const [origin, code] of [
		["http://127.0.0.1:2", "ECONNREFUSED"],
		["http://minio.platform.invalid:9000", "ENOTFOUND"],
		// The second, where Node trusts another test's CA, which has the same name.
		[
			distrusted.endpoint,
			"UNABLE_TO_VERIFY_LEAF_SIGNATURE|CERT_SIGNATURE_FAILURE",
		],
	] as const) {
		const fixture = await loadFixture();
		const { result, log } = await fixture.load(
			{ run: randomUUID() } as Manifest,
			{ input: { manifestURL: `${origin}${path}` } },
		);
		expect(result, origin).toMatchObject({
			error: {
				code: "ManifestUnavailable",
				// Archive logs where its links lead under the same id.
				message: expect.stringMatching(
					new RegExp(
						`(${code}|EAI_AGAIN) \\(error ${linkErrorId(origin)} in the log of archive\\)`,
					),
				),
			},
		});
		for (const text of [JSON.stringify(result), log])
			expectNothingOf(text, [
				"secret-bucket",
				"secret-prefix",
				"s3cret",
				new URL(origin).host,
				"platform.invalid",
			]);
	}
});

test("a Job whose links have expired says so without the link, the host or the bucket", async () => {
	const { bucket, region, endpoint } = servers.s3;
	const client = new S3Client({ region, endpoint, forcePathStyle: true });
	const manifestURL = await getSignedUrl(
		client,
		new GetObjectCommand({ Bucket: bucket, Key: "secret-prefix/runs/1.json" }),
		{ signingDate: new Date(Date.now() - 3_600_000), expiresIn: 60 },
	);
	client.destroy();
	const fixture = await loadFixture();
	const { result, log } = await fixture.load(
		{ run: randomUUID() } as Manifest,
		{ input: { manifestURL } },
	);
	expect(result).toMatchObject({ error: { code: "ManifestExpired" } });
	for (const text of [JSON.stringify(result), log])
		expectNothingOf(text, [
			bucket,
			"secret-prefix",
			"X-Amz",
			new URL(endpoint).host,
		]);
});

test("when NATS is away, operator's question has an answer without its address", async () => {
	const nats = await startNats();
	const connection = await connectNats(
		new Settings({ NATS_URL: nats.url }),
		"test",
		createLog("test"),
	);
	const ask = () =>
		askArchive(
			{ nats: connection, log: createLog("test") },
			{ subject: deletionSubject(0), shard: 0 },
			{},
			"ArchiveUnavailable",
			new AbortController().signal,
		);
	expect(await ask()).toMatchObject({
		error: { message: expect.stringContaining("nobody listens") },
	});
	await connection.close();
	await nats.stop();
	const answer = await ask();
	if (!("error" in answer)) throw new Error("NATS is there");
	expect(answer.error.message).toMatch(
		/error [0-9a-f]{8} in the log of the operator/,
	);
	expectNothingOf(answer.error.message, [new URL(nats.url).host]);
});
