import { once } from "node:events";
import { pino } from "pino";
import { expect, onTestFinished, test, vi } from "vitest";
import { type Run, runKind } from "../../crds/generated/types.ts";
import type {
	KubeClient,
	ListOptions,
	WatchOptions,
} from "../../packages/kube/client/client.ts";
import { KubeApiError } from "../../packages/kube/client/errors.ts";
import { runFilters } from "../runs/runs.ts";
import { watchedKinds } from "./changes.ts";
import { NewestIndex } from "./newest-index.ts";
import { newestFirst, selectorsOf } from "./page.ts";
import { SharedWatches } from "./shared-watch.ts";

/** Runs by name: run-000 is the newest. */
function runs(
	count: number,
	textLength = 0,
	{ mayWatch = true, room }: { mayWatch?: boolean; room?: number } = {},
) {
	const items = Array.from({ length: count }, (_, index) => ({
		metadata: {
			name: `run-${String(index).padStart(4, "0")}`,
			creationTimestamp: new Date(1e12 - index * 60_000).toISOString(),
		},
		spec: {
			pipelineRef: { name: index % 2 ? "odd" : "even" },
			...(textLength > 0 && { text: "x".repeat(textLength) }),
		},
	})).toSorted(() => -1);
	const limits: (number | undefined)[] = [];
	const starts: number[] = [];
	/** Of each watch that runs, whose token it has and where it watches. */
	const watching: string[] = [];
	/** Of each watch that was begun, too. */
	const begun: string[] = [];
	const clientOf = (caller: string): KubeClient =>
		({ ...client, ...watchOf(caller) }) as unknown as KubeClient;
	const client = {
		list: async (
			_kind: unknown,
			{ limit, continue: from, fieldSelector = "" }: ListOptions,
		) => {
			await new Promise(setImmediate);
			const [field, name] = fieldSelector.split("=");
			if (field === "metadata.name")
				return {
					items: items.filter(({ metadata }) => metadata.name === name),
				};
			limits.push(limit);
			const start = Number(from ?? 0);
			starts.push(start);
			const end = start + limit!;
			return {
				items: items.slice(start, end),
				metadata: {
					resourceVersion: "1",
					...(end < count && {
						continue: String(end),
						remainingItemCount: count - end,
					}),
				},
			};
		},
	};
	const watchOf = (caller: string) => ({
		async *watch(_: unknown, { signal, namespace }: WatchOptions) {
			begun.push(caller);
			if (!mayWatch) throw new KubeApiError(403, {});
			yield {
				type: "BOOKMARK",
				object: { metadata: { resourceVersion: "1" } },
			};
			watching.push(`${caller} in ${namespace}`);
			if (!signal!.aborted) await once(signal!, "abort");
			watching.splice(watching.indexOf(`${caller} in ${namespace}`), 1);
		},
	});
	const index = new NewestIndex(
		new SharedWatches(pino({ level: "silent" }), room),
		watchedKinds,
	);
	onTestFinished(() => index.close());
	const list = async (
		query: Record<string, string>,
		signal?: AbortSignal,
		{ caller = "first", namespace = "shop" } = {},
	) => {
		const listed = {
			...{ client: clientOf(caller), kind: runKind, namespace },
			...(signal && { whenGone: () => signal }),
			selectors: selectorsOf(runFilters, query),
		};
		const { items, ...rest } = await newestFirst<Run>(
			listed,
			query,
			({ metadata, spec }) => ({ ...metadata, ...spec }),
			index,
		);
		return {
			...rest,
			length: JSON.stringify(items).length,
			names: items.map((item) => (item as { name: string }).name),
		};
	};
	return { items, list, limits, starts, client, index, watching, begun };
}

test("a list is newest first, over all of its pages", async () => {
	const { items, list } = runs(7);
	const names: string[] = [];
	for (let cursor: string | undefined; ; ) {
		const found = await list({ limit: "3", ...(cursor && { cursor }) });
		expect(found.total).toBe(7);
		names.push(...found.names);
		({ cursor } = found);
		if (cursor === undefined) break;
	}
	expect(names).toEqual(items.map(({ metadata }) => metadata.name).sort());
});

test("what is created meanwhile moves nothing between pages", async () => {
	const { items, list } = runs(4);
	const first = await list({ limit: "2" });
	items.push({
		metadata: { name: "later", creationTimestamp: "2099-01-01T00:00:00Z" },
		spec: { pipelineRef: { name: "even" } },
	});
	const second = await list({ limit: "5", cursor: first.cursor! });
	expect([...first.names, ...second.names]).toEqual([
		...["run-0000", "run-0001", "run-0002", "run-0003"],
	]);
});

test("a short list costs one small page, and a longer one is read once more", async () => {
	const short = runs(100);
	await short.list({ limit: "2" });
	expect(short.limits).toEqual([100]);
	const long = runs(1_000);
	expect((await long.list({ limit: "2" })).names).toEqual([
		"run-0000",
		"run-0001",
	]);
	expect(long.limits).toEqual([100, 1_000]);
});

test("a list beyond 1,000 is newest first, over all of its pages, and only the first page reads all", async () => {
	const { items, list, limits } = runs(3_000);
	const names: string[] = [];
	for (let cursor: string | undefined; ; ) {
		const found = await list({ limit: "700", ...(cursor && { cursor }) });
		expect(found.total).toBe(3_000);
		names.push(...found.names);
		({ cursor } = found);
		if (cursor === undefined) break;
	}
	expect(names).toEqual(items.map(({ metadata }) => metadata.name).sort());
	const read = limits.reduce<number>((sum, limit) => sum + limit!, 0);
	expect(read).toBeLessThanOrEqual(100 + 3_500 + 5);
});

test("of a long list one Pipeline and one time come newest first, too", async () => {
	const { items, list } = runs(3_000);
	await list({});
	const odd = items
		.filter(({ spec }) => spec.pipelineRef.name === "odd")
		.map(({ metadata }) => metadata)
		.sort((a, b) => (a.name < b.name ? -1 : 1));
	const found = await list({ pipeline: "odd", limit: "3" });
	expect(found).toMatchObject({
		names: odd.slice(0, 3).map(({ name }) => name),
		total: 1_500,
	});
	const [to, from] = [odd[10]!, odd[12]!].map((one) => one.creationTimestamp);
	expect((await list({ pipeline: "odd", from: from!, to: to! })).names).toEqual(
		odd.slice(10, 13).map(({ name }) => name),
	);
});

test("who may list and not watch gets the same, by reading all", async () => {
	const { list, begun } = runs(3_000, 0, { mayWatch: false });
	// Refused once, no watch is tried for each page.
	for (const _ of [1, 2, 3]) {
		const { names } = await list({ limit: "2" });
		expect(names).toEqual(["run-0000", "run-0001"]);
		await rest();
	}
	expect(begun).toHaveLength(1);
});

test("of objects that there was no room to hold a page has a hundred, and they need no right but that to list", async () => {
	const { items, list } = runs(1_250, 0, { room: 1 });
	const names: string[] = [];
	const lengths: number[] = [];
	for (let cursor: string | undefined; ; ) {
		const found = await list({ limit: "1000", ...(cursor && { cursor }) });
		lengths.push(found.names.length);
		names.push(...found.names);
		({ cursor } = found);
		if (cursor === undefined) break;
	}
	expect(names).toEqual(items.map(({ metadata }) => metadata.name).sort());
	expect(lengths).toEqual([...Array(12).fill(100), 50]);
});

/** The clock stands until it is told to go on. */
function stopClock(): void {
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
	onTestFinished(() => void vi.useRealTimers());
}

const rest = () => new Promise((done) => setImmediate(done));

test("a watch goes on for a minute after the last page, and ends with the API", async () => {
	stopClock();
	const { list, index, watching } = runs(1_001);
	await list({});
	for (const _ of [1, 2]) {
		await vi.advanceTimersByTimeAsync(50_000);
		await rest();
		expect(watching).toEqual(["first in shop"]);
		await list({});
	}
	await vi.advanceTimersByTimeAsync(61_000);
	await rest();
	expect(watching).toEqual([]);
	await list({});
	await vi.advanceTimersByTimeAsync(1_000);
	expect(watching).toHaveLength(1);
	index.close();
	await rest();
	expect(watching).toEqual([]);
	// A page that is answered while the API stops.
	await list({});
	await vi.advanceTimersByTimeAsync(1_000);
	expect(watching).toEqual([]);
});

test("nobody's token watches on for others: the next caller's takes over after a minute", async () => {
	stopClock();
	const { list, watching, starts } = runs(1_001);
	await list({});
	starts.length = 0;
	for (const holder of ["first", "second"]) {
		await vi.advanceTimersByTimeAsync(40_000);
		await list({ limit: "1" }, undefined, { caller: "second" });
		await vi.advanceTimersByTimeAsync(1_000);
		await rest();
		expect(watching).toEqual([`${holder} in shop`]);
	}
	// It goes on from where the first one was.
	expect(starts).not.toContain(500);
});

test("sixteen accounts have a watch between pages, and beyond them the one that was unused for longest has none", async () => {
	const { list, watching } = runs(1_001);
	const page = (namespace: string) =>
		list({ limit: "1" }, undefined, { namespace });
	const accounts = Array.from({ length: 16 }, (_, index) => `a${index}`);
	for (const account of accounts) await page(account);
	await page("a0");
	await page("another");
	await rest();
	const left = [...accounts.filter((name) => name !== "a1"), "another"];
	expect(watching.toSorted()).toEqual(
		left.map((name) => `first in ${name}`).toSorted(),
	);
});

test("who may not list gets nothing of what others have been sent", async () => {
	const { list, client } = runs(3_000);
	await list({});
	client.list = async () => {
		throw new Error("Forbidden");
	};
	await expect(list({})).rejects.toThrow("Forbidden");
});

test("a time has its objects newest first, over all pages, however many there are", async () => {
	const { items, list, limits } = runs(3_000);
	const times = items.map(({ metadata }) => metadata.creationTimestamp).sort();
	const [from, to] = [times[1_200]!, times[1_542]!];
	const names: string[] = [];
	for (let cursor: string | undefined; ; ) {
		const found = await list({
			...{ from, to, limit: "100" },
			...(cursor && { cursor }),
		});
		expect(found.total).toBe(343);
		names.push(...found.names);
		({ cursor } = found);
		if (cursor === undefined) break;
	}
	const wanted = items
		.map(({ metadata }) => metadata)
		.filter(({ creationTimestamp: at }) => from <= at && at <= to)
		.map(({ name }) => name);
	expect(names).toEqual(wanted.sort());
	expect(Math.max(...limits.map((limit) => limit!))).toBe(500);
});

test("a date is the whole UTC date, and half a date is refused", async () => {
	const { items, list } = runs(3_000);
	const date = items[1_500]!.metadata.creationTimestamp.slice(0, 10);
	const { total } = await list({ from: date, to: date });
	expect(total).toBe(
		items.filter(({ metadata }) => metadata.creationTimestamp.startsWith(date))
			.length,
	);
	await expect(list({ from: "2026-03" })).rejects.toMatchObject({
		details: [{ path: "from" }],
	});
	await expect(list({ from: date, cursor: "2" })).rejects.toMatchObject({
		details: [{ path: "cursor" }],
	});
});

const always = { from: "2000-01-01", limit: "1000" };

test("objects of a time that are too large for one page come in several, and one alone comes whole", async () => {
	const { items, list } = runs(40, 1_500_000);
	items[12]!.spec.text = "x".repeat(20_000_000);
	const names: string[] = [];
	for (let cursor: string | undefined; ; ) {
		const found = await list({ ...always, ...(cursor && { cursor }) });
		expect(found.total).toBe(40);
		if (found.names.length > 1)
			expect(found.length).toBeLessThanOrEqual(16 * 1024 ** 2);
		names.push(...found.names);
		({ cursor } = found);
		if (cursor === undefined) break;
	}
	expect(names).toEqual(items.map(({ metadata }) => metadata.name).sort());
});

test("nothing more is read for a caller who is gone", async () => {
	const { list, limits } = runs(3_000);
	const caller = new AbortController();
	const read = list(always, caller.signal);
	caller.abort();
	await expect(read).rejects.toMatchObject({ status: 503 });
	expect(limits.length).toBeLessThanOrEqual(1);
});

test("an account reads all of its objects no more than twice at once", async () => {
	const { list, starts } = runs(1_000);
	await Promise.all(Array.from({ length: 4 }, () => list(always)));
	expect(starts).toEqual([0, 0, 500, 500, 0, 0, 500, 500]);
});
