import { expect, test } from "vitest";
import {
	KubeApiError,
	type KubeClient,
	TransportError,
	type WatchEvent,
	type WatchOptions,
} from "../client/client.ts";
import { kinds } from "../kinds.ts";
import { awaitObject } from "./object-wait.ts";

const signal = new AbortController().signal;
const broken = new TransportError(
	{ method: "GET", path: "/" },
	new Error("aborted"),
	{ staleConnection: false },
);

const configMap = (version: number, value = "old") => ({
	metadata: {
		name: "a",
		namespace: "shop",
		uid: "u",
		resourceVersion: `${version}`,
	},
	data: { value },
});

/** A client whose watches send these one after the other, and end with an error if there is one. */
function clientWith(...watches: (WatchEvent | Error)[][]) {
	const versions: string[] = [];
	const client = {
		async *watch(_kind: unknown, { resourceVersion }: WatchOptions) {
			versions.push(resourceVersion);
			const sent = watches.shift();
			if (!sent) throw new Error("the test has no further watch");
			for (const event of sent) {
				if (event instanceof Error) throw event;
				yield event;
			}
		},
	} as unknown as KubeClient;
	return { client, versions };
}

const waitFor = (client: KubeClient, timeoutMs?: number) =>
	awaitObject(
		client,
		kinds.configMap,
		configMap(1),
		({ data }) => data?.value === "new",
		signal,
		timeoutMs,
	);

const modified = (version: number, value?: string) =>
	({ type: "MODIFIED", object: configMap(version, value) }) as const;

test.each([
	["the connection breaks", broken],
	["the apiserver is overloaded", new KubeApiError(429, {})],
	["the apiserver stops", new KubeApiError(503, {})],
])(
	"a wait survives that %s, and goes on from the last version",
	async (_, error) => {
		const { client, versions } = clientWith(
			[modified(2), error],
			[error],
			[modified(3, "new")],
		);
		expect((await waitFor(client))?.data).toEqual({ value: "new" });
		expect(versions).toEqual(["1", "2", "2"]);
	},
);

test("a deletion that follows a broken connection ends the wait", async () => {
	const deleted = { type: "DELETED", object: configMap(2) } as const;
	const { client } = clientWith([broken], [deleted]);
	expect(await waitFor(client)).toBeUndefined();
});

test.each([401, 403, 404])(
	"the apiserver's %d ends the wait",
	async (status) => {
		const refusal = new KubeApiError(status, {});
		const { client } = clientWith([refusal]);
		await expect(waitFor(client)).rejects.toBe(refusal);
	},
);

test("an apiserver that stays away ends the wait", async () => {
	const { client, versions } = clientWith([broken]);
	await expect(waitFor(client, 0)).rejects.toBe(broken);
	expect(versions).toEqual(["1"]);
});

test("watches that end as soon as they begin don't keep the apiserver busy", async () => {
	const { client, versions } = clientWith(
		...Array.from({ length: 1_000 }, () => []),
	);
	const object = await awaitObject(
		client,
		kinds.configMap,
		configMap(1),
		() => false,
		AbortSignal.timeout(500),
	);
	expect(object).toEqual(configMap(1));
	expect(versions.length).toBeLessThan(10);
});
