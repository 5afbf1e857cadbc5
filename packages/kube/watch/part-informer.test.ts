import { pino } from "pino";
import { expect, test, vi } from "vitest";
import type { KubeObject } from "../resource.ts";
import type { Informer } from "./informer.ts";
import { PartInformer } from "./part-informer.ts";
import { KubeObjectStore } from "./store.ts";

interface Letter extends KubeObject {
	text?: string;
	size?: number;
}

/** A store that has listed, and an apiserver with the texts of its letters. */
function letters({ wanted = () => true as boolean } = {}) {
	const store = new KubeObjectStore<Letter>(() => undefined);
	const texts = new Map<string, string>();
	const read = vi.fn(async ({ metadata: { namespace, name } }: Letter) => {
		const text = texts.get(`${namespace}/${name}`);
		return text === undefined ? undefined : { part: text, size: text.length };
	});
	const objects = {
		kind: { kind: "Letter" },
		synced: Promise.resolve(),
		onChange: store.onChange.bind(store),
		list: store.list.bind(store),
		get: (namespace: string, name: string) => store.get({ namespace, name }),
	};
	const informer = new PartInformer<Letter, string>({
		objects: objects as unknown as Informer<Letter>,
		wanted: (letter) => (wanted() && letter ? "text" : undefined),
		versionOf: ({ metadata }) => metadata.resourceVersion!,
		read,
		joined: (letter, text, noRoom) => ({
			...letter,
			...(text !== undefined && { text }),
			...(noRoom && { size: noRoom.size }),
		}),
		room: 10,
		after: [],
		log: pino({ level: "silent" }),
	});
	let version = 0;
	const write = (key: string, text: string) => {
		const [namespace = "", name = ""] = key.split("/");
		texts.set(key, text);
		const resourceVersion = `${++version}`;
		store.put({ metadata: { namespace, name, resourceVersion, uid: key } });
	};
	const remove = (key: string) => {
		const [namespace = "", name = ""] = key.split("/");
		store.remove({ metadata: { namespace, name } });
	};
	const shown = () =>
		Object.fromEntries(
			informer
				.list()
				.map(({ metadata, text, size }) => [metadata.name, text ?? size]),
		);
	return { informer, read, write, remove, shown };
}

test("what was there is read before the informer has synced, and a change is shown when it has been read", async () => {
	const { informer, read, write, remove, shown } = letters();
	write("a/one", "1");
	expect(informer.isUnread("a", "one")).toBe(true);
	await informer.synced;
	expect(shown()).toEqual({ one: "1" });
	expect(informer.isUnread("a", "one")).toBe(false);
	const seen: unknown[] = [];
	informer.onChange(({ text }, before, deleted) =>
		seen.push([before?.text, text, deleted]),
	);
	write("a/one", "2");
	expect(shown()).toEqual({ one: "1" });
	await informer.settled("a", "one");
	expect(shown()).toEqual({ one: "2" });
	remove("a/one");
	expect(shown()).toEqual({});
	expect(seen).toEqual([
		["1", "2", false],
		["2", "2", true],
	]);
	expect(read).toHaveBeenCalledTimes(2);
});

test("nothing is read that nobody wants, and what is no longer wanted is let go", async () => {
	let isWanted = false;
	const { informer, read, write } = letters({ wanted: () => isWanted });
	write("a/one", "1");
	await informer.synced;
	expect(informer.get("a", "one")).not.toHaveProperty("text");
	expect(read).not.toHaveBeenCalled();
	for (isWanted of [true, false]) {
		informer.look({ namespace: "a", name: "one" });
		await informer.settled("a", "one");
		expect(informer.get("a", "one")?.text).toBe(isWanted ? "1" : undefined);
	}
});

test("a namespace has so much room and no other's, and what it has no room for is read where there is some again", async () => {
	const { informer, write, remove, shown } = letters();
	await informer.synced;
	for (const [key, text] of [
		["a/six", "666666"],
		["a/five", "55555"],
		["b/nine", "999999999"],
	] as const) {
		write(key, text);
		await informer.settled(...(key.split("/") as [string, string]));
	}
	expect(shown()).toEqual({ six: "666666", five: 5, nine: "999999999" });
	write("a/six", "6");
	await vi.waitFor(() => expect(shown()).toMatchObject({ five: "55555" }));
	write("a/six", "666666");
	await vi.waitFor(() => expect(shown()).toMatchObject({ six: 6 }));
	remove("a/five");
	await vi.waitFor(() =>
		expect(shown()).toEqual({ six: "666666", nine: "999999999" }),
	);
});

test("what can't be read keeps nobody waiting, and is tried again", async () => {
	vi.useFakeTimers();
	const { informer, read, write, shown } = letters();
	read.mockRejectedValueOnce(new Error("the apiserver is away"));
	write("a/one", "1");
	write("a/two", "2");
	await informer.synced;
	expect(shown()).toEqual({ two: "2" });
	expect(informer.isUnread("a", "one")).toBe(true);
	await vi.runAllTimersAsync();
	expect(shown()).toEqual({ one: "1", two: "2" });
	vi.useRealTimers();
});

test("one account's reads don't hold up another's", async () => {
	const { informer, read, write } = letters();
	await informer.synced;
	read.mockImplementation(async ({ metadata: { namespace } }) => {
		if (namespace === "crowd") await new Promise(() => {});
		return { part: "", size: 0 };
	});
	for (let i = 0; i < 100; i++) write(`crowd/${i}`, "x");
	write("other/one", "y");
	await informer.settled("other", "one");
	expect(informer.isUnread("other", "one")).toBe(false);
	expect(read.mock.calls.length).toBeLessThan(10);
});
