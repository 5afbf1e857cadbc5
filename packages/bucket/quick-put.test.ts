import type { IncomingMessage, RequestListener } from "node:http";
import { buffer } from "node:stream/consumers";
import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import { startScriptedStore } from "../../test/support/fixtures/data-plane/scripted-store.ts";

interface Seen extends Pick<IncomingMessage, "method" | "url" | "headers"> {
	body: Buffer;
}

/**
 * A store of one object. It answers what `answer` says, or else as S3 does: a conditional PUT of a key that exists is 412
 * (docs.aws.amazon.com, "Add preconditions to S3 operations with conditional requests").
 */
async function startStore(
	answer: (
		request: Seen,
		count: number,
	) =>
		| { status: number; code: string }
		| "loses the answer"
		| "repeats it"
		| undefined,
) {
	const seen: Seen[] = [];
	const kept: { object?: Buffer } = {};
	const serve: RequestListener = async (request, response) => {
		const body = await buffer(request);
		const { method, url, headers } = request;
		seen.push({ method, url, headers, body });
		const given = answer(seen.at(-1)!, seen.length);
		const refuse = (status: number, code: string) =>
			response
				.writeHead(status, { "content-type": "application/xml" })
				.end(`<Error><Code>${code}</Code><Message>no</Message></Error>`);
		if (typeof given === "object") return refuse(given.status, given.code);
		if (method === "GET") return response.end(kept.object);
		if (kept.object && headers["if-none-match"] === "*")
			return refuse(412, "PreconditionFailed");
		kept.object = body;
		if (given === "repeats it") return refuse(412, "PreconditionFailed");
		if (given === undefined) return response.end();
		return request.socket.destroy();
	};
	const store = await startScriptedStore(serve, {
		encryption: { algorithm: "aws:kms", kmsKeyId: "k" },
	});
	const put = (content = "ours") => store.putNew("a/x=1", content, "text/x");
	return { put, seen, kept };
}

test("a new object takes one request, with its condition, checksum and encryption", async () => {
	const { put, seen } = await startStore(() => undefined);
	expect(await put()).toBe("created");
	const checksum = Buffer.alloc(4);
	checksum.writeUInt32BE(crc32("ours"));
	expect(seen).toMatchObject([
		{
			method: "PUT",
			url: "/b/a/x%3D1",
			headers: {
				"if-none-match": "*",
				"content-type": "text/x",
				"x-amz-checksum-crc32": checksum.toString("base64"),
				"x-amz-server-side-encryption": "aws:kms",
				"x-amz-server-side-encryption-aws-kms-key-id": "k",
				authorization: expect.stringContaining("if-none-match"),
			},
		},
	]);
	expect(await put("other")).toBe("exists");
	expect(seen.map(({ method }) => method)).toEqual(["PUT", "PUT", "GET"]);
});

test("an object whose answer is lost is ours if the store has it with our bytes, and else another's", async () => {
	const lost = await startStore((_, count) =>
		count === 1 ? "loses the answer" : undefined,
	);
	expect(await lost.put()).toBe("created");
	const another = await startStore((_, count) =>
		count === 1 ? { status: 500, code: "InternalError" } : undefined,
	);
	another.kept.object = Buffer.from("another's");
	expect(await another.put()).toBe("exists");
});

test("an object that a proxy has sent twice is ours, and found out by one more request", async () => {
	const { put, seen } = await startStore(() => "repeats it");
	expect(await put()).toBe("created");
	expect(seen.map(({ method }) => method)).toEqual(["PUT", "GET"]);
});

test("an object that can't be read is another's, and keeps nobody from going on", async () => {
	const { put, kept } = await startStore(({ method }) =>
		method === "GET" ? { status: 403, code: "AccessDenied" } : undefined,
	);
	kept.object = Buffer.from("damaged");
	expect(await put()).toBe("exists");
});

test("the SDK's attempt says what is wrong, and is then the only one", async () => {
	const { put, seen } = await startStore(() => ({
		status: 403,
		code: "AccessDenied",
	}));
	await expect(put()).rejects.toThrow(/AccessDenied: no\. Allow archive's/);
	expect(seen).toHaveLength(2);
	await expect(put()).rejects.toThrow(/AccessDenied/);
	expect(seen).toHaveLength(3);
});
