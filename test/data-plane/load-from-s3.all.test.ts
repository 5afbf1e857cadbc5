// In make test: ingest/load/load-days.test.ts
import {
	GetObjectCommand,
	PutObjectCommand,
	S3Client,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import {
	logSizes,
	maxLogEndBytes,
	maxResultBytes,
} from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import {
	eventsOf,
	type LoadFixture,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";
import { newStore } from "../support/fixtures/data-plane/running-archive.ts";
import { startS3, type TestS3 } from "../support/servers/servers.ts";

let s3: TestS3;
let client: S3Client;

beforeAll(async () => {
	s3 = await startS3();
	client = new S3Client({
		endpoint: s3.endpoint,
		region: s3.region,
		forcePathStyle: true,
		credentials: {
			accessKeyId: s3.accessKeyId,
			secretAccessKey: s3.secretAccessKey,
		},
	});
});

afterAll(() => s3.stop());

/** Stores bytes in S3 and returns a presigned link that was made `ageSeconds` ago and is valid for ten minutes. */
async function presigned(
	key: string,
	body: string | Uint8Array,
	ageSeconds = 0,
): Promise<string> {
	const object = { Bucket: s3.bucket, Key: key };
	await client.send(new PutObjectCommand({ ...object, Body: body }));
	return getSignedUrl(client, new GetObjectCommand(object), {
		expiresIn: 600,
		signingDate: new Date(Date.now() - ageSeconds * 1000),
	});
}

/** A manifest whose objects are in S3 instead of the fixture's own store. */
async function stored(
	{ manifest }: LoadFixture,
	ageSeconds = 0,
): Promise<Manifest> {
	const date = "2026-03-01";
	const days = await manifest({
		[date]: [eventsOf(date, 3, "a"), eventsOf(date, 2, "b")],
	});
	for (const object of days.dates.flatMap(({ objects }) => objects)) {
		const bytes = await (await fetch(object.url)).bytes();
		object.url = await presigned(object.key, bytes, ageSeconds);
	}
	return days;
}

test("a load needs presigned links and nothing else", async () => {
	const fixture = await loadFixture();
	const store = newStore(s3, new AbortController().signal);
	onTestFinished(() => store.close());
	const result = await store.presignPut("runs/r.json", maxResultBytes, 600);
	const days = { ...(await stored(fixture)), result };
	const manifestURL = await presigned("runs/a.json", JSON.stringify(days));
	const { exitCode, log, ...left } = await fixture.load(days, {
		input: { manifestURL },
		env: { AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: "" },
	});
	expect(exitCode, log).toBe(0);
	expect(await fixture.rows("select count(*)::int from orders")).toEqual([[5]]);
	const kept = await store.get("runs/r.json");
	expect(JSON.parse(kept ?? "")).toEqual(left.result);
	expect(log).not.toContain("X-Amz-Signature");
});

test("a log that doesn't fit into the result is kept in the bucket, without the links", async () => {
	const fixture = await loadFixture();
	const store = newStore(s3, new AbortController().signal);
	onTestFinished(() => store.close());
	const put = (bytes: number) => store.presignPut("runs/l.log", bytes, 600);
	const logs = await Promise.all(logSizes.map(put));
	const result = await store.presignPut("runs/l.json", maxResultBytes, 600);
	const good = { ...(await stored(fixture)), result, logs };
	expect((await fixture.load(good)).exitCode).toBe(0);
	expect(await store.get("runs/l.log")).toBeUndefined();
	const path = `../${"p".repeat(maxLogEndBytes)}`;
	const failed = await fixture.load(good, {
		input: { destination: { type: "DuckDB", path } },
	});
	expect(failed.exitCode).not.toBe(0);
	const kept = await store.get("runs/l.log");
	expect(kept).toHaveLength(logSizes[0]);
	expect(kept).toContain(path);
	expect(kept).not.toContain("X-Amz-Signature");
	expect(kept!.trimEnd()).toMatch(/load failed"}$/);
});

test("a failure is kept in the bucket, and one that can't be kept there changes nothing else", async () => {
	const fixture = await loadFixture();
	const store = newStore(s3, new AbortController().signal);
	onTestFinished(() => store.close());
	const result = await store.presignPut("runs/f.json", maxResultBytes, 600);
	const days = { ...(await stored(fixture, 3600)), result };
	const failed = await fixture.load(days);
	expect(failed.exitCode).toBe(65);
	const kept = await store.get("runs/f.json");
	expect(JSON.parse(kept ?? "")).toEqual(failed.result);
	const elsewhere = { ...result, url: result.url.replace("f.json", "g.json") };
	const refused = await fixture.load({ ...days, result: elsewhere });
	expect(refused.exitCode).toBe(65);
	// Which of the two objects is asked for first is left open.
	expect(refused.result).toEqual({
		...failed.result,
		error: {
			code: "ManifestExpired",
			message: expect.stringContaining("has expired"),
			retryable: false,
		},
		log: expect.any(String),
	});
});

test.each([
	["the manifest", 0, 3600],
	["an object", 3600, 0],
])(
	"an expired link to %s is told from other refusals",
	async (_, objectAge, manifestAge) => {
		const fixture = await loadFixture();
		const days = await stored(fixture, objectAge);
		const { exitCode, result } = await fixture.load(days, {
			input: {
				manifestURL: await presigned(
					"runs/b.json",
					JSON.stringify(days),
					manifestAge,
				),
			},
		});
		expect(result).toMatchObject({
			error: { code: "ManifestExpired", retryable: false },
		});
		expect(exitCode).toBe(65);
	},
);

test("a load outlives a restart of the S3 gateway", async () => {
	const fixture = await loadFixture();
	const days = await stored(fixture);
	await s3.kill();
	const { process, finish } = await fixture.start(days);
	let back: Promise<void> | undefined;
	process.onLine = (line) => {
		if (line.includes("trying again")) back ??= s3.start();
	};
	const { exitCode, log } = await finish();
	await back;
	expect(exitCode, log).toBe(0);
	expect(await fixture.rows("select count(*)::int from orders")).toEqual([[5]]);
});
