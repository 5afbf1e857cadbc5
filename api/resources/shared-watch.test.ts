import { once } from "node:events";
import { pino } from "pino";
import { expect, test } from "vitest";
import { sourceKind } from "../../crds/generated/types.ts";
import type {
	KubeClient,
	ListOptions,
	WatchOptions,
} from "../../packages/kube/client/client.ts";
import type { KubeObject } from "../../packages/kube/resource.ts";
import { type SharedView, SharedWatches } from "./shared-watch.ts";

const log = pino({ level: "silent" });
const watched = {
	kind: sourceKind,
	view: ({ metadata, spec }: KubeObject & { spec?: object }) => ({
		name: metadata.name,
		...spec,
	}),
};
/** Of an object's text, about. */
const length = 1_000;

/** An apiserver with ten objects in each namespace. It notes which ones it is asked for by name. */
function apiserver() {
	const asked: string[] = [];
	const object = (namespace: string, index: number) =>
		({
			metadata: { name: `s-${index}`, namespace, uid: `${index}` },
			spec: { displayName: "x".repeat(length) },
		}) as KubeObject;
	const client = {
		list: async (
			_: unknown,
			{ namespace = "", fieldSelector }: ListOptions,
		) => {
			const [, name] = fieldSelector?.split("=") ?? [];
			if (name !== undefined) asked.push(`${namespace}/${name}`);
			const items = [...Array(10).keys()]
				.map((index) => object(namespace, index))
				.filter(({ metadata }) => [undefined, metadata.name].includes(name));
			return { items, metadata: { resourceVersion: "1" } };
		},
		async *watch(_: unknown, { signal }: WatchOptions) {
			yield {
				type: "BOOKMARK",
				object: { metadata: { resourceVersion: "1" } },
			};
			await once(signal!, "abort");
		},
	} as unknown as KubeClient;
	return { client, asked };
}

async function joined(
	watches: SharedWatches,
	client: KubeClient,
	namespace: string,
): Promise<SharedView> {
	const view = watches.join(watched as never, namespace, {
		client,
		changed() {},
		failed() {},
	});
	await view.listed;
	return view;
}

/** How many of the ten had to be asked for. */
async function readAll(view: SharedView, asked: string[]): Promise<number> {
	const before = asked.length;
	for (const name of view.names())
		expect(JSON.parse((await view.get(name))!)).toEqual({
			name,
			displayName: "x".repeat(length),
		});
	return asked.length - before;
}

test("an account's objects take half of the room at most, the next one's half of the rest, and each object is shown", async () => {
	const { client, asked } = apiserver();
	const watches = new SharedWatches(log, 13 * length);
	const first = await joined(watches, client, "first");
	expect(await readAll(first, asked)).toBe(4);
	const second = await joined(watches, client, "second");
	expect(await readAll(second, asked)).toBe(7);
	expect(await readAll(first, asked)).toBe(4);
	first.leave();
	second.leave();
});

test("what an account's last visitor leaves is room for others", async () => {
	const { client, asked } = apiserver();
	const watches = new SharedWatches(log, 25 * length);
	for (const account of ["first", "second", "third"]) {
		const view = await joined(watches, client, account);
		expect(await readAll(view, asked)).toBe(0);
		view.leave();
	}
});
