import { Readable } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import type { Run } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import type { Pod } from "../../packages/kube/kinds.ts";
import { apiserver } from "../../test/support/cli/apiserver.ts";
import { type LoggedKind, writeJobLog } from "./job-log.ts";

afterEach(() => {
	vi.restoreAllMocks();
	vi.unstubAllEnvs();
});

test("a followed log has each Pod's lines, from before the first until the Run ends", async () => {
	// What the cluster has at each look: no Pod yet, the first attempt, a pause, the second, the end.
	const looks = [[], [pod(1)], [pod(1)], [], [pod(2)], []];
	let look = 0;
	const client = {
		get: async () => run(++look < 5 ? "Running" : "Failed"),
		list: async () => ({ items: looks[look] }),
		rawStream: async (path: string) =>
			Readable.from([`lines of ${path.split("/").at(-2)}\n`]),
	};
	expect(await written(client, run("Running"), true)).toBe(
		"lines of pod-1\nlines of pod-2\n",
	);
});

test("a log writes nothing to the terminal, whether it is followed or has ended", async () => {
	const line = Buffer.from('{"member":"\u009b2J\u202eü"}\n');
	const shown = '{"member":"\\u009b2J\\u202eü"}\n';
	let look = 0;
	const followed = {
		get: async () => run(++look < 2 ? "Running" : "Failed"),
		list: async () => ({ items: look < 1 ? [pod(1)] : [] }),
		// A character of several bytes comes in two pieces.
		rawStream: async () =>
			Readable.from([line.subarray(0, 12), line.subarray(12)]),
	};
	expect(await written(followed, run("Running"), true)).toBe(shown);
	const ended = {
		list: async () => ({ items: [pod(1)] }),
		rawText: async () => line.toString(),
	};
	expect(await written(ended, run("Failed"), false)).toBe(shown);
});

test("an Operation's log is that of its Pods, and of the API's operations", async () => {
	const asked: string[] = [];
	const client = {
		list: async (_: object, { labelSelector }: { labelSelector: string }) => {
			asked.push(labelSelector);
			return { items: [] };
		},
	};
	const { url } = await apiserver((request) => {
		asked.push(request);
		return request.includes("/logs") ? [200, "a\n"] : [200, { id: "1" }];
	});
	vi.stubEnv("TIDEMILL_API_URL", `${url}/v1`);
	vi.stubEnv("TIDEMILL_API_TOKEN", "secret");
	expect(await written(client, run("Failed"), false, "Operation")).toBe("a\n");
	expect(asked).toEqual([
		`${label.operation}=r`,
		"GET /v1/operations/r",
		"GET /v1/operations/r/logs?tail=10",
	]);
});

test.each([
	["the Run", "1", "a\nb\n"],
	["another cluster's Run of its name", "2", "kept\n"],
])("the API's log counts if it is of %s", async (_, id, expected) => {
	const { url } = await apiserver((request) =>
		request.includes("/logs") ? [200, "a\nb\n"] : [200, { name: "r", id }],
	);
	vi.stubEnv("TIDEMILL_API_URL", `${url}/v1`);
	vi.stubEnv("TIDEMILL_API_TOKEN", "secret");
	const client = { list: async () => ({ items: [] }) };
	expect(await written(client, run("Failed"), false)).toBe(expected);
});

async function written(
	client: object,
	run: Run,
	follow: boolean,
	kind: LoggedKind = "Run",
) {
	let text = "";
	vi.spyOn(process.stdout, "write").mockImplementation((chunk) => {
		text += chunk;
		return true;
	});
	const cluster = { client: client as KubeClient, namespace: "shop" };
	await writeJobLog(cluster, kind, run, { follow, lines: 10, pauseMs: 1 });
	return text;
}

function run(phase: "Running" | "Failed"): Run {
	return {
		metadata: { name: "r", namespace: "shop", uid: "1" },
		spec: { pipelineRef: { name: "orders" } },
		status: {
			phase,
			...(phase === "Failed" && {
				completionTime: "2026-03-01T12:00:00Z",
				log: "kept\n",
			}),
		},
	} as Run;
}

function pod(attempt: number): Pod {
	return {
		metadata: {
			name: `pod-${attempt}`,
			creationTimestamp: `2026-03-01T12:00:0${attempt}Z`,
		},
		status: { phase: "Running" },
	};
}
