import { expect, test, vi } from "vitest";
import type { UploadAnswer } from "../../packages/contracts/transfer.ts";
import type { ApiRequest, Handler } from "../http/endpoint.ts";
import { createUploads } from "./upload-body.ts";

const sha256 = "ab".repeat(32);
const files = [{ sha256, bytes: 5 }];
const link = { url: "https://s3/a?signature=secret", headers: { "x-a": "b" } };
const expiresAt = "2026-03-02T00:00:00.000Z";
const answer: UploadAnswer = {
	ok: true,
	files: [{ sha256, link }, { sha256 }],
	expiresAt,
};

function ask(part: {
	allowed?: boolean;
	answer?: () => Promise<UploadAnswer>;
	body?: object;
}) {
	const askUploads = vi.fn(part.answer ?? (async () => answer));
	const raw = vi.fn(async () => ({
		status: { allowed: part.allowed ?? true },
	}));
	const request = {
		body: part.body ?? { files },
		account: "shop-1",
		client: { raw },
		server: { archive: { askUploads }, apiLog: { warn() {} } },
	} as unknown as ApiRequest;
	const reply = {} as Parameters<Handler>[1];
	const asked = createUploads(request, reply);
	return { asked, askUploads, raw };
}

test("who may create Operations gets links to what isn't there, for their own account, and no cache keeps them", async () => {
	const { asked, askUploads, raw } = ask({});
	expect(await asked).toEqual({
		items: [{ sha256, ...link }, { sha256 }],
		expiresAt,
	});
	expect(askUploads).toHaveBeenCalledWith({ account: "shop-1", files });
	expect(raw).toHaveBeenCalledWith(
		"POST",
		expect.anything(),
		expect.objectContaining({
			body: expect.objectContaining({
				spec: {
					resourceAttributes: {
						namespace: "shop-1",
						group: "tidemill.dev",
						verb: "create",
						resource: "operations",
					},
				},
			}),
		}),
	);
});

const refusal = (retryable: boolean) => async (): Promise<UploadAnswer> => ({
	ok: false,
	error: { code: "X", message: "too much", retryable },
});

test.each([
	["without the right", { allowed: false }, "Forbidden"],
	["beyond the account's limit", { answer: refusal(false) }, "Conflict"],
	["while the bucket is away", { answer: refusal(true) }, "Unavailable"],
	[
		"while archive is away",
		{ answer: () => Promise.reject(new Error("silent")) },
		"Unavailable",
	],
])("nobody gets links %s", async (_, part, code) => {
	const { asked, askUploads } = ask(part);
	await expect(asked).rejects.toMatchObject({ code });
	expect(askUploads).toHaveBeenCalledTimes("allowed" in part ? 0 : 1);
});

test("archive isn't asked for what is no file", async () => {
	const { asked, askUploads } = ask({ body: { files: [{ sha256 }] } });
	await expect(asked).rejects.toMatchObject({ code: "InvalidRequest" });
	expect(askUploads).not.toHaveBeenCalled();
});
