import { expect, test, vi } from "vitest";
import type { ExportAnswer } from "../../packages/contracts/transfer.ts";
import type { ApiRequest, Handler } from "../http/endpoint.ts";
import { listExportFiles } from "./export-files.ts";

const file = {
	date: "2026-03-01",
	name: "2026-03-01-a.parquet",
	bytes: 9,
	url: "https://s3/a?signature=secret",
};
const answer: ExportAnswer = {
	ok: true,
	files: [{ ...file, rows: 2 }],
	next: "2026-03-01",
	expiresAt: "2026-03-02T00:00:00.000Z",
};
const done = {
	metadata: { name: "e", uid: "uid-e" },
	spec: { type: "Export", sourceRef: { name: "shop" } },
	status: { phase: "Succeeded" },
};

function ask(
	part: { operation?: object; allowed?: boolean; answer?: ExportAnswer } = {},
	query = {},
) {
	const askExport = vi.fn(async () => part.answer ?? answer);
	const raw = vi.fn(async () => ({
		status: { allowed: part.allowed ?? true },
	}));
	const request = {
		params: { name: "e" },
		query,
		account: "shop-1",
		client: { get: async () => part.operation ?? done, raw },
		server: { archive: { askExport }, apiLog: { warn() {} } },
	} as unknown as ApiRequest;
	const reply = {} as Parameters<Handler>[1];
	const asked = listExportFiles(request, reply);
	return { asked, askExport, raw };
}

test("who may read the bodies of the Source's events gets the links, and no cache keeps them", async () => {
	const cursor = "2026-02-28.200.0123456789abcdef";
	const { asked, askExport, raw } = ask({}, { cursor });
	expect(await asked).toEqual({
		items: [{ ...file, events: 2 }],
		cursor: "2026-03-01",
		expiresAt: "2026-03-02T00:00:00.000Z",
	});
	expect(askExport).toHaveBeenCalledWith({
		operation: "uid-e",
		account: "shop-1",
		after: cursor,
	});
	expect(raw).toHaveBeenCalledWith(
		"POST",
		expect.anything(),
		expect.objectContaining({
			body: expect.objectContaining({
				spec: {
					resourceAttributes: {
						namespace: "shop-1",
						group: "tidemill.dev",
						verb: "get",
						resource: "sources",
						subresource: "bodies",
						name: "shop",
					},
				},
			}),
		}),
	);
});

const refusal = (retryable: boolean): ExportAnswer => ({
	ok: false,
	error: { code: "X", message: "no", retryable },
});
const running = { ...done, status: { phase: "Running" } };
const release = { ...done, spec: { ...done.spec, type: "Release" } };

test.each([
	["without the right", { allowed: false }, {}, "Forbidden"],
	["of an Export that goes on", { operation: running }, {}, "Conflict"],
	["of a Release", { operation: release }, {}, "Conflict"],
	["whose events are gone", { answer: refusal(false) }, {}, "Conflict"],
	["while the bucket is away", { answer: refusal(true) }, {}, "Unavailable"],
	["after no page", {}, { cursor: "../x" }, "InvalidRequest"],
])("nobody gets links %s", async (_, part, query, code) => {
	const { asked, askExport } = ask(part, query);
	await expect(asked).rejects.toMatchObject({ code });
	expect(askExport).toHaveBeenCalledTimes("answer" in part ? 1 : 0);
});
