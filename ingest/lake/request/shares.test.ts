import type { NatsConnection } from "@nats-io/transport-node";
import { expect, test } from "vitest";
import { DateObjects } from "../../archive/ledger/date-objects.ts";
import type { LakeShard } from "./lake-shard.ts";
import {
	cutsOf,
	datesSince,
	flushShares,
	objectsIn,
	pageOf,
	type ShardShare,
	shareOf,
} from "./shares.ts";

const object = (stream: string, first: number) => ({ stream, first, rows: 2 });

function shareWith(dates: Record<string, number[]>): ShardShare {
	return {
		firstEventDate: Object.keys(dates)[0]!,
		objects: new Map(
			Object.entries(dates).map(([date, firsts]) => [
				date,
				DateObjects.of(firsts.map((first) => object("former", first))),
			]),
		),
		quarantined: new Map([
			["2026-03-02", DateObjects.of([object("former", 9)])],
		]),
	};
}

test("a share comes whole in pages", () => {
	const month = Array.from(
		{ length: 20 },
		(_, day) => `2026-03-${String(day + 1).padStart(2, "0")}`,
	);
	const many = Array.from({ length: 200_000 }, (_, n) => n + 1);
	const share = shareWith(
		Object.fromEntries(month.map((date) => [date, many])),
	);
	const dates = [];
	let pages = 0;
	for (let from: string | undefined = ""; from !== undefined; pages++) {
		const page = pageOf(share, from);
		expect(JSON.stringify(page).length).toBeLessThan(8 * 1024 ** 2);
		dates.push(...page.dates);
		from = page.next;
	}
	expect(pages).toBeGreaterThan(1);
	const found = shareOf(share.firstEventDate, dates);
	expect([...found.objects.keys()]).toEqual(month);
	for (const date of month) expect(found.objects.get(date)!.rows).toBe(400_000);
	expect([...found.quarantined.keys()]).toEqual(["2026-03-02"]);
});

test("a date has the objects of all shards, as they are when they are asked for", () => {
	const [one, other] = [{ "2026-03-01": [1] }, { "2026-03-01": [4] }].map(
		shareWith,
	);
	const shares = [one!, other!];
	const firsts = () =>
		objectsIn(shares, "objects", "2026-03-01")?.map(({ first }) => first);
	expect(firsts()).toEqual([1, 4]);
	one!.objects.get("2026-03-01")!.add(object("former", 2));
	expect(firsts()).toEqual([1, 2, 4]);
	expect(objectsIn(shares, "objects", "2026-03-02")).toBeUndefined();
});

test("the dates since some cuts are those of later ones of any stream, in quarantine or not", () => {
	const of = (stream: string, dates: Record<string, number[]>) =>
		new Map(
			Object.entries(dates).map(([date, firsts]) => [
				date,
				DateObjects.of(firsts.map((first) => object(stream, first))),
			]),
		);
	const share = (stream: string, ...[objects, apart = {}]: object[]) => ({
		firstEventDate: "2026-03-01",
		objects: of(stream, { ...objects }),
		quarantined: of(stream, { ...apart }),
	});
	const before = share("a", { "2026-03-01": [1, 9], "2026-03-02": [9, 12] });
	const held = cutsOf([before, share("b", {}, { "2026-03-02": [3] })]);
	expect(held).toEqual({ a: 12, b: 3 });
	expect(datesSince(held, [before])).toEqual([]);
	const late = share("a", { "2026-03-01": [1, 9, 13] });
	const apart = share("b", {}, { "2026-02-28": [4], "2026-03-02": [3] });
	const restarted = share("c", { "2026-02-27": [1] });
	expect(datesSince(held, [late, apart, restarted]).sort()).toEqual([
		"2026-02-27",
		"2026-02-28",
		"2026-03-01",
	]);
});

test.each([
	["NATS says", '{"shards":[0,1]}', undefined],
	["the operator says, since NATS is new", "", [0, 1]],
])(
	"before a source is read, each shard that may hold its events archives what it has, as %s",
	async (_, inNats, told) => {
		const source = { account: "shop", sourceKey: "aa".repeat(16) };
		const own = shareWith({ "2026-03-01": [1] });
		const other = shareWith({ "2026-03-01": [4] });
		const done: string[] = [];
		const known = Buffer.from(inNats).toString("base64");
		const message = { subject: "", seq: 1, data: known, time: "" };
		const shard = {
			number: 0,
			connection: {
				options: {},
				request: async () => ({
					data: Buffer.from(JSON.stringify({ message })),
				}),
				requestMany: async (subject: string) => {
					done.push(subject);
					const { firstEventDate } = other;
					const answer = { ok: true, firstEventDate, ...pageOf(other) };
					return [{ json: () => answer }];
				},
			} as unknown as NatsConnection,
			end: async () => ({ time: "2026-03-02T00:00:00Z" }),
			flush: async () => void done.push("own"),
			index: { source: () => (done.includes("own") ? own : undefined) },
		} as unknown as LakeShard;
		const { shares } = await flushShares(
			shard,
			{ ...source, shards: told },
			{} as never,
		);
		expect(done.sort()).toEqual(["own", "tidemill.archive.1.share"]);
		expect(
			objectsIn(shares, "objects", "2026-03-01")?.map(({ first }) => first),
		).toEqual([1, 4]);
	},
);
