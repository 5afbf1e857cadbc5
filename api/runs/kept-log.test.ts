import { expect, test, vi } from "vitest";
import type { Run } from "../../crds/generated/types.ts";
import { KubeApiError } from "../../packages/kube/client/errors.ts";
import type { ApiRequest } from "../http/endpoint.ts";
import { getRunLogs, keptLog } from "./logs.ts";

test.each([
	["the bucket's, which has more", "a\nb\nc\n", "b\nc\n", "a\nb\nc\n"],
	[
		"the bucket's, though the status left out a long line",
		"a\nlong\nc\n",
		"a\nc\n",
		"a\nlong\nc\n",
	],
	["the status's, when the bucket has an earlier attempt", "x\n", "b\n", "b\n"],
	["the status's, when the bucket has none", undefined, "b\n", "b\n"],
	["none, when the last attempt left none", "x\n", undefined, undefined],
])("the kept log is %s", async (_, inBucket, inStatus, expected) => {
	const run = {
		metadata: { name: "one", uid: "1" },
		status: { ...(inStatus !== undefined && { log: inStatus }) },
	} as Run;
	const archive = { askLog: vi.fn(async () => inBucket) };
	const request = { account: "shop", server: { archive } };
	expect(await keptLog(request as unknown as ApiRequest, run)).toBe(expected);
});

test("a Pod that is removed between the list and its log leaves the kept log", async () => {
	const run = {
		metadata: { name: "one", uid: "1" },
		status: { completionTime: "2026-03-01T12:00:00Z", log: "kept\n" },
	};
	const pod = {
		metadata: { name: "one-a", creationTimestamp: "2026-03-01T11:59:00Z" },
		status: { phase: "Succeeded" },
	};
	const client = {
		get: async () => run,
		list: async () => ({ items: [pod], metadata: {} }),
		rawText: async () => {
			throw new KubeApiError(404, { reason: "NotFound" });
		},
	};
	const archive = { askLog: async () => "more\nkept\n" };
	const request = {
		...{ client, account: "shop", params: { name: "one" }, query: {} },
		server: { archive },
	} as unknown as Parameters<typeof getRunLogs>[0];
	const reply = { type: vi.fn() };
	expect(
		await getRunLogs(
			request,
			reply as unknown as Parameters<typeof getRunLogs>[1],
		),
	).toBe("more\nkept\n");
});
