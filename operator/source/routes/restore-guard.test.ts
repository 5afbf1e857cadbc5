import pino from "pino";
import { expect, test } from "vitest";
import type { KubeClient } from "../../../packages/kube/client/client.ts";
import { KubeApiError } from "../../../packages/kube/client/errors.ts";
import { decideMark, RestoreGuard } from "./restore-guard.ts";

const marked = (cluster?: string, isRestoring?: true) => ({
	...(cluster && { cluster }),
	...(isRestoring && { isRestoring }),
});

test.each([
	["a new bucket is this cluster's", undefined, false, marked("2")],
	["an early build's bucket is this cluster's", {}, false, marked("2")],
	["the same cluster goes on", marked("2"), false, marked("2")],
	["another cluster waits", marked("1"), false, marked("1", true)],
	["it goes on waiting", marked("1", true), false, marked("1", true)],
	["until somebody says so", marked("1", true), true, marked("2")],
	["or the former one is back", marked("2", true), false, marked("2")],
])("%s", (_, found, isComplete, expected) => {
	expect(decideMark(found, "2", isComplete)).toEqual(expected);
});

function world(isForbidden = false) {
	const annotations: Record<string, string | null> = {};
	let asked = 0;
	const client = {
		async get({ plural }: { plural: string }) {
			asked++;
			if (isForbidden && plural === "namespaces")
				throw new KubeApiError(403, { reason: "Forbidden" });
			return plural === "namespaces"
				? { metadata: { name: "kube-system", uid: "2" } }
				: { metadata: { name: "operator", annotations } };
		},
		async patch(
			_: unknown,
			_name: string,
			_namespace: string,
			{ metadata }: { metadata: { annotations: object } },
		) {
			Object.assign(annotations, metadata.annotations);
		},
	} as unknown as KubeClient;
	const guard = new RestoreGuard(
		client,
		{ namespace: "tidemill", name: "operator" },
		pino({ enabled: false }),
	);
	const said = () => annotations["tidemill.dev/restore"] ?? undefined;
	const say = (word: string) => {
		annotations["tidemill.dev/restore"] = word;
	};
	return { guard, said, say, asked: () => asked };
}

test("the Lease says that a restore is awaited, and takes a person's word once", async () => {
	const { guard, said, say } = world();
	const restoring = await guard.markOf(marked("1"));
	expect([restoring, guard.isAwaited, said()]).toEqual([
		marked("1", true),
		true,
		"awaited",
	]);
	say("complete");
	const done = await guard.markOf(restoring);
	// Killed before the bucket says so, the next process finds the word.
	expect([done, guard.isAwaited, said()]).toEqual([
		marked("2"),
		false,
		"complete",
	]);
	await guard.markOf(done);
	expect(said()).toBeUndefined();
	expect(await guard.markOf(marked("1"))).toEqual(marked("1", true));
});

test("a word that nobody waited for isn't kept for later, and a cluster that is known costs no request", async () => {
	const { guard, said, say, asked } = world();
	say("complete");
	await guard.markOf(marked("2"));
	expect(said()).toBeUndefined();
	const before = asked();
	await guard.markOf(marked("2"));
	expect(asked()).toBe(before);
});

test("an operator that may not tell the cluster leaves the marker as it is, and publishes", async () => {
	const { guard } = world(true);
	expect(await guard.markOf(undefined)).toEqual({});
	expect(await guard.markOf(marked("1", true))).toEqual(marked("1", true));
	expect([guard.isAwaited, guard.isOpen]).toEqual([false, false]);
});

test("the word is looked for until the Lease has lost it", async () => {
	const { guard, say } = world();
	await guard.markOf(marked("1"));
	say("complete");
	const done = await guard.markOf(marked("1", true));
	expect(guard.isOpen).toBe(true);
	await guard.markOf(done);
	expect(guard.isOpen).toBe(false);
});
