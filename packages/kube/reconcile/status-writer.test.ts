import { expect, test, vi } from "vitest";
import type { KubeClient } from "../client/client.ts";
import type { Condition } from "../conditions.ts";
import type { KubeObject, ResourceKind } from "../resource.ts";
import { writeStatus } from "./status-writer.ts";

type Reported = KubeObject & {
	status?: { conditions: Condition[]; error: { message: string } };
};
const kind = { kind: "Reported" } as ResourceKind<Reported>;

function statusWith(message: string) {
	const condition: Condition = {
		type: "Ready",
		status: "False",
		reason: "Broken",
		message,
		lastTransitionTime: "2026-03-31T12:00:00Z",
	};
	return { conditions: [condition], error: { message } };
}

test("a text that the apiserver would refuse for its length is cut, and then it counts as written", async () => {
	const applyStatus = vi.fn(async (_, object) => object);
	const client = { applyStatus } as unknown as KubeClient;
	const write = (object: Reported) =>
		writeStatus(client, kind, object, statusWith("x".repeat(40_000)), "test");
	const written = await write({ metadata: { name: "a" } });
	const { conditions, error } = written.status!;
	for (const { message } of [conditions[0]!, error]) {
		expect(message).toHaveLength(32_768);
		expect(message.endsWith("x…")).toBe(true);
	}
	await write(written);
	expect(applyStatus).toHaveBeenCalledTimes(1);
});

test("a message writes nothing to the terminal on which people read it, and then it counts as written", async () => {
	const applyStatus = vi.fn(async (_, object) => object);
	const client = { applyStatus } as unknown as KubeClient;
	const status = statusWith("type \u001b]0;a\u0007\u202eb\nline 2");
	const write = (object: Reported) =>
		writeStatus(client, kind, object, status, "test");
	const written = await write({ metadata: { name: "a" } });
	const { conditions, error } = written.status!;
	for (const { message } of [conditions[0]!, error])
		expect(message).toBe("type \\u001b]0;a\\u0007\\u202eb\nline 2");
	await write(written);
	expect(applyStatus).toHaveBeenCalledTimes(1);
});
