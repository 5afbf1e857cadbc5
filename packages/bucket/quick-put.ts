import { text } from "node:stream/consumers";
import { crc32 } from "node:zlib";
// @aws-sdk/client-s3: see s3-client.ts.
import { PutObjectCommand, type S3Client } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { encryptionHeaders, type ObjectStoreSettings } from "./s3-client.ts";
import type { StoreRequests } from "./store-requests.ts";

/** From here on the SDK asks the store first whether it wants the body (`Expect: 100-continue`). */
const mostBytes = 2 * 1024 ** 2;

/** After any other answer than success or a 412. */
const restMs = 60_000;

export interface NewObject {
	key: string;
	body: Uint8Array;
	contentType: string;
}

/**
 * Sends a PUT with `If-None-Match: *` by the SDK's signer and connections, but not through its middleware, which takes two
 * thirds of a small PUT's CPU (tools/bench/README.md). It is one attempt. Retries, and finding out what is wrong,
 * are left to the SDK, so after an attempt that neither succeeds nor finds the key taken, there is none for a minute.
 */
export class QuickPut {
	readonly #client: S3Client;
	readonly #settings: ObjectStoreSettings;
	readonly #abortSignal: AbortSignal;
	readonly #requests: StoreRequests;
	#target: Target | undefined;
	#restsUntilMs = Number.NEGATIVE_INFINITY;

	constructor(
		client: S3Client,
		settings: ObjectStoreSettings,
		abortSignal: AbortSignal,
		requests: StoreRequests,
	) {
		this.#client = client;
		this.#settings = settings;
		this.#abortSignal = abortSignal;
		this.#requests = requests;
	}

	/** Undefined if the store may have the object now or not. */
	async put(object: NewObject): Promise<"created" | "exists" | undefined> {
		if (performance.now() < this.#restsUntilMs) return undefined;
		if (object.body.length >= mostBytes) return undefined;
		try {
			this.#target ??= await findTarget(this.#client, this.#settings.bucket);
			const status = await this.#send(this.#target, object);
			if (status === 200) return "created";
			if (status === 412) return "exists";
		} catch {
			// The SDK's attempt says what is wrong.
		}
		this.#restsUntilMs = performance.now() + restMs;
		return undefined;
	}

	async #send(
		{ url, signer }: Target,
		{ key, body, contentType }: NewObject,
	): Promise<number | undefined> {
		const { config } = this.#client;
		const checksum = Buffer.alloc(4);
		checksum.writeUInt32BE(crc32(body));
		const withChecksum =
			(await config.requestChecksumCalculation()) === "WHEN_SUPPORTED";
		const request = await signer.sign(
			{
				method: "PUT",
				protocol: url.protocol,
				hostname: url.hostname,
				...(url.port && { port: Number(url.port) }),
				path: url.pathname + key.split("/").map(encoded).join("/"),
				query: {},
				headers: {
					host: url.host,
					"content-type": contentType,
					"content-length": String(body.length),
					"if-none-match": "*",
					...(withChecksum && {
						"x-amz-checksum-crc32": checksum.toString("base64"),
					}),
					...encryptionHeaders(this.#settings),
				},
				body,
			},
			// As the store's answers to the SDK have corrected it.
			{ signingDate: new Date(Date.now() + config.systemClockOffset) },
		);
		const { response } = await this.#requests.send("PutObject", () =>
			config.requestHandler.handle(
				request as Parameters<typeof config.requestHandler.handle>[0],
				{ abortSignal: this.#abortSignal },
			),
		);
		// The connection is free once the answer is read. That of a 200 is empty, unless it has an error.
		const answer = await text(response.body);
		return answer.includes("<Code>PreconditionFailed</Code>")
			? 412
			: response.statusCode === 200 && answer !== ""
				? undefined
				: response.statusCode;
	}
}

interface Target {
	/** Of the bucket, with a slash at its end. */
	url: URL;
	signer: Awaited<ReturnType<S3Client["config"]["signer"]>>;
}

/** Finds the bucket as the SDK does. Throws if it signs other than by AWS4-HMAC-SHA256 for `s3`, as for a directory bucket. */
async function findTarget(client: S3Client, Bucket: string): Promise<Target> {
	const put = new PutObjectCommand({ Bucket, Key: "k" });
	const url = new URL(await getSignedUrl(client, put));
	const { "X-Amz-Algorithm": algorithm, "X-Amz-Credential": credential = "" } =
		Object.fromEntries(url.searchParams);
	const [, signingRegion] =
		/\/\d{8}\/([^/]+)\/s3\/aws4_request$/.exec(credential) ?? [];
	if (algorithm !== "AWS4-HMAC-SHA256" || !signingRegion)
		throw new Error(`The SDK signs by ${algorithm} for ${credential}`);
	const name = "sigv4";
	const scheme = { name, signingName: "s3", signingRegion, properties: {} };
	url.pathname = url.pathname.slice(0, -1);
	return { url, signer: await client.config.signer(scheme) };
}

/** As Signature Version 4 has it: all but unreserved characters (RFC 3986 §2.3). */
function encoded(segment: string): string {
	return encodeURIComponent(segment).replace(
		/[!'()*]/g,
		(character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
	);
}
