import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLog } from "../service/log.ts";
import { Settings } from "../service/settings.ts";
import { readStoreSettings } from "./store-settings.ts";

let directory: string;
beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "tidemill-store-settings-"));
});
afterAll(() => rm(directory, { recursive: true }));

const read = (env: Record<string, string>) =>
	readStoreSettings(
		new Settings({ S3_BUCKET: "b", AWS_REGION: "eu-north-1", ...env }),
		createLog("test"),
	);

test("AWS needs a bucket and a region, and each bucket has a host name", () => {
	expect(read({})).toEqual({
		bucket: "b",
		prefix: "tidemill",
		region: "eu-north-1",
		forcePathStyle: false,
		timeoutMs: 30_000,
	});
	expect(() => read({ S3_BUCKET: "" })).toThrow("S3_BUCKET is not set");
	expect(() => read({ AWS_REGION: "" })).toThrow("AWS_REGION is not set");
});

test("another store has its bucket in the path, unless a setting says otherwise", () => {
	const endpoint = "https://s3.example.com";
	expect(read({ S3_ENDPOINT: `${endpoint}/` })).toMatchObject({
		endpoint,
		forcePathStyle: true,
	});
	expect(
		read({ S3_ENDPOINT: endpoint, S3_FORCE_PATH_STYLE: "false" }),
	).toMatchObject({ forcePathStyle: false });
	// The client would speak plain HTTP to all but the first of these.
	for (const fault of ["s3.example.com", "s3://s3.example.com", "a:9000"])
		expect(() => read({ S3_ENDPOINT: fault })).toThrow(
			"S3_ENDPOINT is not a URL of HTTP",
		);
});

test.each([
	[{ S3_SSE: "AES256" }, { algorithm: "AES256" }],
	[{ S3_SSE: "aws:kms" }, { algorithm: "aws:kms" }],
	[
		{
			S3_SSE: "aws:kms",
			S3_SSE_KMS_KEY_ID: "arn:aws:kms:k",
			S3_SSE_BUCKET_KEY: "true",
		},
		{ algorithm: "aws:kms", kmsKeyId: "arn:aws:kms:k", bucketKey: true },
	],
	[
		{ S3_SSE: "aws:kms:dsse", S3_SSE_KMS_KEY_ID: "k" },
		{ algorithm: "aws:kms:dsse", kmsKeyId: "k" },
	],
])("%j is an encryption", (env, encryption) => {
	expect(read(env as Record<string, string>).encryption).toEqual(encryption);
});

test.each([
	[{ S3_SSE: "yes" }, 'S3_SSE is "yes". It must be one of AES256, aws:kms'],
	[{ S3_SSE_KMS_KEY_ID: "k" }, "S3_SSE_KMS_KEY_ID is set, but S3_SSE is not"],
	[
		{ S3_SSE: "AES256", S3_SSE_KMS_KEY_ID: "k" },
		'S3_SSE_KMS_KEY_ID is set, but S3_SSE is "AES256"',
	],
	[
		{ S3_SSE: "aws:kms:dsse", S3_SSE_BUCKET_KEY: "true" },
		'S3_SSE_BUCKET_KEY is set, but S3_SSE is "aws:kms:dsse"',
	],
	[
		{ S3_SSE: "aws:kms", S3_SSE_BUCKET_KEY: "1" },
		'S3_SSE_BUCKET_KEY is "1". It must be true or false',
	],
	[{ S3_TIMEOUT_MS: "5" }, 'S3_TIMEOUT_MS is "5"'],
])("%j is refused", (env, message) => {
	expect(() => read(env as Record<string, string>)).toThrow(message);
});

test("the certificates of a file become authorities, and the text between them is ignored", async () => {
	const file = join(directory, "bundle.pem");
	const [ours, theirs] = rootCertificates;
	await writeFile(file, `# ours\n${ours}\n# and theirs\n${theirs}`);
	expect(read({ S3_CA_FILE: file }).authorities).toBe(`${ours}\n${theirs}`);
});

test.each([
	["nothing", undefined, "can't be read (ENOENT"],
	["no certificate", "hello", "holds no certificate"],
	[
		"half a certificate",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
		"certificate 1 is broken",
	],
	["too much", "x".repeat(65 * 1024), "has 66560 bytes"],
])("a file with %s is refused", async (name, content, fault) => {
	const file = join(directory, name.replaceAll(" ", "-"));
	if (content !== undefined) await writeFile(file, content);
	expect(() => read({ S3_CA_FILE: file })).toThrow(`S3_CA_FILE is "${file}", `);
	expect(() => read({ S3_CA_FILE: file })).toThrow(fault);
});

test("docs/s3.md lists exactly the variables that are read", async () => {
	const names = async (path: string) => {
		const text = await readFile(new URL(path, import.meta.url), "utf8");
		return new Set(text.match(/\bS3_[A-Z][A-Z_]*[A-Z]\b/g));
	};
	const code = await names("./store-settings.ts");
	// Read beside the others, by all that knows the keys.
	code.add("S3_PREFIX");
	expect(await names("../../docs/s3.md")).toEqual(code);
});
