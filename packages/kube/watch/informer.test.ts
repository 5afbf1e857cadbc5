import { pino } from "pino";
import { expect, test, vi } from "vitest";
import {
	AnswerTooLong,
	KubeApiError,
	type KubeClient,
	type ListOptions,
} from "../client/client.ts";
import { kinds } from "../kinds.ts";
import { Informer } from "./informer.ts";

const log = pino({ level: "silent" });

/** The apiserver refuses everything about the namespace "closed". */
const client = {
	list: async (_: unknown, { namespace }: { namespace?: string }) => {
		if (namespace === undefined || namespace === "closed")
			throw new KubeApiError(403, { reason: "Forbidden" });
		const object = { metadata: { name: "s", namespace } };
		return { metadata: { resourceVersion: "1" }, items: [object] };
	},
	watch: async function* (_: unknown, options: { signal: AbortSignal }) {
		await new Promise((resolve) =>
			options.signal.addEventListener("abort", resolve),
		);
	},
} as unknown as KubeClient;

test("a namespace whose binding is missing or gone does not keep the others waiting", async () => {
	const stop = new AbortController();
	const informer = new Informer(client, kinds.secret, {
		namespaces: ["open", "closed"],
		log,
	});
	const ended = informer.run(stop.signal);
	await informer.synced;
	expect(informer.list().map(({ metadata }) => metadata.namespace)).toEqual([
		"open",
	]);
	expect(["open", "closed"].map((name) => informer.isUnknown(name))).toEqual([
		false,
		true,
	]);
	stop.abort();
	await ended;
});

test("without a permission for all namespaces, an informer of all doesn't claim to know them", async () => {
	const stop = new AbortController();
	const informer = new Informer(client, kinds.secret, { log });
	const list = vi.spyOn(client, "list");
	const ended = informer.run(stop.signal);
	// The second try comes after the first refusal was handled.
	await vi.waitUntil(() => list.mock.calls.length > 1, { timeout: 10_000 });
	list.mockRestore();
	expect(informer.hasSynced).toBe(false);
	stop.abort();
	await ended;
});

test("a page that is too long is asked for again in smaller ones, until one object is taken whatever it has", async () => {
	const lengths = [1, 1, 1, 9, 1, 1, 5, 5, 1].map((length) => length * 2 ** 19);
	const asked: number[] = [];
	const largest = { ofSeveral: 0, ofOne: 0 };
	const paged = Object.assign({}, client, {
		list: async (
			_: unknown,
			{ limit = 0, continue: from = "0", maxLength = Infinity }: ListOptions,
		) => {
			asked.push(limit);
			const end = Number(from) + limit;
			const page = lengths.slice(Number(from), end);
			const length = page.reduce((sum, each) => sum + each, 0);
			if (length > maxLength) throw new AnswerTooLong("/");
			const kind = page.length > 1 ? "ofSeveral" : "ofOne";
			largest[kind] = Math.max(largest[kind], length);
			return {
				metadata: {
					resourceVersion: "1",
					...(end < lengths.length && { continue: `${end}` }),
				},
				items: page.map((_, index) => ({
					metadata: { name: `${Number(from) + index}`, namespace: "open" },
				})),
			};
		},
	});
	const stop = new AbortController();
	const options = { namespaces: ["open"], log };
	const informer = new Informer(paged, kinds.secret, options);
	const ended = informer.run(stop.signal);
	await informer.synced;
	expect(informer.list()).toHaveLength(lengths.length);
	expect(asked[0]).toBe(500);
	expect(largest.ofSeveral).toBeLessThanOrEqual(2 * 2 ** 20);
	expect(largest.ofOne).toBe(9 * 2 ** 19);
	expect(asked.length).toBeLessThan(20);
	stop.abort();
	await ended;
});
