import { expect, test } from "vitest";
import { type Run, runKind } from "../../crds/generated/types.ts";
import type {
	KubeClient,
	ListOptions,
} from "../../packages/kube/client/client.ts";
import { newestFirst } from "./page.ts";

/** Runs by name: run-000 is the newest. */
function runs(count: number, textLength = 0) {
	const items = Array.from({ length: count }, (_, index) => ({
		metadata: {
			name: `run-${String(index).padStart(4, "0")}`,
			creationTimestamp: new Date(1e12 - index * 60_000).toISOString(),
		},
		...(textLength > 0 && { spec: { text: "x".repeat(textLength) } }),
	})).toSorted(() => -1);
	const limits: (number | undefined)[] = [];
	const starts: number[] = [];
	const client = {
		list: async (_kind: unknown, { limit, continue: from }: ListOptions) => {
			await new Promise(setImmediate);
			limits.push(limit);
			const start = Number(from ?? 0);
			starts.push(start);
			const end = start + limit!;
			return {
				items: items.slice(start, end),
				metadata:
					end < count
						? { continue: String(end), remainingItemCount: count - end }
						: {},
			};
		},
	} as unknown as KubeClient;
	const list = async (query: Record<string, string>, signal?: AbortSignal) => {
		const listed = {
			...{ client, kind: runKind, namespace: "shop" },
			...(signal && { whenGone: () => signal }),
		};
		const { items, ...rest } = await newestFirst<Run>(
			listed,
			query,
			({ metadata, spec }) => ({ ...metadata, ...spec }),
		);
		return {
			...rest,
			length: JSON.stringify(items).length,
			names: items.map((item) => (item as { name: string }).name),
		};
	};
	return { items, list, limits, starts };
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

test("beyond 1,000 the list has the order of the apiserver, whose cursors go on", async () => {
	const { items, list } = runs(1_001);
	const first = await list({ limit: "2" });
	expect(first).toMatchObject({
		names: items.slice(0, 2).map(({ metadata }) => metadata.name),
		cursor: "2",
		total: 1_001,
	});
	const { names } = await list({ limit: "2", cursor: "2" });
	expect(names).toEqual(items.slice(2, 4).map(({ metadata }) => metadata.name));
});

test("thousands cost no more than the page that is asked for, since the apiserver says how many are left", async () => {
	const { items, list, limits } = runs(3_000);
	const { names } = await list({});
	expect(names).toEqual(
		items.slice(0, 100).map(({ metadata }) => metadata.name),
	);
	expect(limits).toEqual([100]);
});

test("a list that has grown beyond 1,000 between two pages begins again", async () => {
	const { list } = runs(1_001);
	await expect(list({ cursor: "newest:MjA" })).rejects.toMatchObject({
		code: "CursorExpired",
	});
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
	items[12]!.spec = { text: "x".repeat(20_000_000) };
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
