import {
	GetObjectCommand,
	PutObjectCommand,
	S3Client,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Manifest } from "../../contracts/manifest.ts";
import {
	eventsOf,
	type LoadFixture,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";
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
	const days = await stored(fixture);
	const manifestURL = await presigned("runs/a.json", JSON.stringify(days));
	const { exitCode, log } = await fixture.load(days, {
		input: { manifestURL },
		env: { AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: "" },
	});
	expect(exitCode, log).toBe(0);
	expect(await fixture.rows("select count(*)::int from orders")).toEqual([[5]]);
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
