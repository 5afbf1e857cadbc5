import { expect, test } from "vitest";
import type {
	EventsRequest,
	StoredEvent,
} from "../../packages/contracts/stored-event.ts";
import type { ApiRequest } from "../http/endpoint.ts";
import { listInShards } from "./list.ts";

const eventAt = (second: number): StoredEvent => ({
	eventID: `event-${String(second).padStart(3, "0")}`,
	time: new Date(second * 1_000).toISOString(),
	kind: "json",
	bytes: 2,
	state: "accepted",
});

const importedAt = (second: number) => ({
	...eventAt(second),
	eventID: "imported",
});

/** Shards with events of these seconds. A page that moves on ends early now and then, as archive's do. */
function shardsWith(
	seconds: Record<number, number[]>,
	{
		shortest = Infinity,
		imported,
	}: { shortest?: number; imported?: StoredEvent } = {},
) {
	const askEvents = async (shard: number, { list }: EventsRequest) => {
		const { cursor = "0", limit, withoutImported } = list!;
		const all = seconds[shard]!.map(eventAt);
		if (imported && !withoutImported) all.push(imported);
		all.sort((a, b) => (a.time < b.time ? 1 : -1));
		const [from, most] = [Number(cursor), Math.min(limit, shortest)];
		const events = all.slice(from, from + most);
		const to = from + events.length;
		return {
			answer: {
				ok: true as const,
				events,
				...(to < all.length && { cursor: String(to) }),
			},
		};
	};
	const request = {
		server: { archive: { askEvents } },
		account: "shop",
	} as unknown as ApiRequest;
	const all = Object.keys(seconds).map(Number);
	return {
		list: (limit: number, cursor?: string, shards = all) =>
			listInShards(
				request,
				{ shards, sourceKey: "a" },
				{ limit, ...(cursor !== undefined && { cursor }) },
			),
	};
}

test("what one shard finds is shown as far as a slower one has looked", async () => {
	const pages: Record<number, { reached: number; found: number[] }> = {
		0: { reached: 100, found: [900, 800, 100] },
		1: { reached: 500, found: [] },
	};
	const askEvents = async (shard: number, { list }: EventsRequest) => ({
		answer: {
			ok: true as const,
			events: pages[shard]!.found.map(eventAt).slice(0, list!.limit),
			cursor: `${shard}`,
			reached: eventAt(pages[shard]!.reached).time,
		},
	});
	const page = await listInShards(
		{ server: { archive: { askEvents } }, account: "shop" } as never,
		{ shards: [0, 1], sourceKey: "a" },
		{ limit: 10 },
	);
	expect(page.events).toEqual([900, 800].map(eventAt));
	expect(page.reached).toBe(eventAt(500).time);
});

test.each([
	[{ 0: [1, 2, 3, 9, 10], 1: [4, 5, 6, 7, 8] }, 3, Infinity],
	[{ 0: [1, 3, 5, 7], 1: [2, 4, 6], 2: [0, 8] }, 2, Infinity],
	[{ 0: [1, 2, 3, 4, 5, 6, 7, 8, 9], 1: [] }, 4, Infinity],
	[{ 0: [1, 3, 5, 7, 9], 1: [2, 4, 6, 8] }, 4, 1],
	[{ 0: [1], 1: [2] }, 10, Infinity],
])(
	"the pages of %j have each event once, the newest first",
	async (seconds: Record<number, number[]>, limit, shortest) => {
		const { list } = shardsWith(seconds, { shortest });
		const found: string[] = [];
		let cursor: string | undefined;
		for (let pages = 0; pages < 30; pages++) {
			const page = await list(limit, cursor);
			expect(page.events.length).toBeLessThanOrEqual(limit);
			found.push(...page.events.map(({ eventID }) => eventID));
			cursor = page.cursor;
			if (cursor === undefined) break;
		}
		const all = Object.values(seconds).flat();
		expect(found).toEqual(
			all.sort((a, b) => b - a).map((second) => eventAt(second).eventID),
		);
	},
);

test("a cursor of before a move has expired", async () => {
	const { list } = shardsWith({ 0: [1, 2], 1: [3] });
	await expect(list(1, "eyJzdHJlYW0iOiJ4In0")).rejects.toMatchObject({
		code: "CursorExpired",
	});
});

test("an imported event, which each shard's archive has, is listed once", async () => {
	const { list } = shardsWith({ 0: [1], 1: [2] }, { imported: importedAt(0) });
	const { events } = await list(10);
	expect(events.map(({ eventID }) => eventID)).toEqual([
		"event-002",
		"event-001",
		"imported",
	]);
});

test("an imported event is listed once, also if the Source moves back between two pages", async () => {
	for (const second of [1.5, 3.5, 5.5]) {
		const imported = importedAt(second);
		const { list } = shardsWith({ 0: [2, 4, 6], 1: [1, 3, 5] }, { imported });
		const found: string[] = [];
		let cursor: string | undefined;
		for (let page = 0; page === 0 || cursor; page++) {
			const shards = page % 2 === 0 ? [1, 0] : [0, 1];
			const { events, ...next } = await list(1, cursor, shards);
			found.push(...events.map(({ eventID }) => eventID));
			cursor = next.cursor;
		}
		expect(found.filter((id) => id === "imported")).toHaveLength(1);
		expect(found).toHaveLength(7);
	}
});

test("a cursor that names a shard twice costs no second question", async () => {
	const { list } = shardsWith({ 0: [1, 2], 1: [3] });
	const parts = JSON.stringify([{ shard: 0 }, { shard: 0 }]);
	const cursor = Buffer.from(parts).toString("base64url");
	await expect(list(1, cursor)).rejects.toMatchObject({
		code: "CursorExpired",
	});
});
