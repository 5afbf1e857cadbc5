import { expect, test, vi } from "vitest";
import type { Run } from "../../crds/generated/types.ts";
import type { ApiRequest } from "../http/endpoint.ts";
import { keptLog } from "./logs.ts";

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
