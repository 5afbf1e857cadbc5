import { expect, test } from "vitest";
import type { Manifest } from "../../../packages/contracts/manifest.ts";
import {
	eventsOf,
	type LoadEnd,
	type LoadFixture,
	loadFixture,
} from "../../support/fixtures/data-plane/load-fixture.ts";

const days = ["2026-03-01", "2026-03-02", "2026-03-03"];
const tags =
	"select date::text, list(distinct body->>'tag')::text, count(*)::int from orders group by date order by date";
const whole = (tag: string, count: number) =>
	days.map((date) => [date, `[${tag}]`, count]);

async function replacement() {
	const fixture = await loadFixture();
	const generation = (tag: string, count: number) =>
		fixture.manifest(
			Object.fromEntries(
				days.map((date) => [date, [eventsOf(date, count, tag)]]),
			),
		);
	const first = await fixture.load(await generation("old", 300));
	expect(first.exitCode, first.log).toBe(0);
	return { ...fixture, next: await generation("new", 20_000) };
}

/** Strikes once, at a moment that doesn't depend on which process is faster. */
type Strike = (
	fixture: LoadFixture & { next: Manifest },
	signal: NodeJS.Signals,
) => Promise<LoadEnd>;

const onLine =
	(words: string): Strike =>
	({ load, next }, signal) =>
		load(next, {
			env: {
				NODE_OPTIONS: `--import ${new URL("strike-at-line.ts", import.meta.url).href}`,
				TEST_WORDS: words,
				TEST_SIGNAL: signal,
			},
		});

const onRequest =
	(count: number): Strike =>
	async ({ store, start, next }, signal) => {
		const { process, finish } = await start(next);
		let asked = 0;
		store.onRequest = () => {
			if (++asked === count) process.child.kill(signal);
		};
		return finish();
	};

const moments: [string, Strike][] = [
	["asking for the manifest", onRequest(1)],
	["downloading", onRequest(3)],
	["inside the transaction", onLine('"daysDone":0')],
];

const added = "select count(*)::int, count(distinct event_id)::int from orders";

export function tryKills(): void {
	test.each(moments)(
		"killed while %s, a load leaves the old table, and the next attempt the new one",
		async (_, strike) => {
			const fixture = await replacement();
			const { rows, load, next } = fixture;
			const end = await strike(fixture, "SIGKILL");
			expect(end.exitCode).toBeNull();
			expect(end.result).toBeUndefined();
			expect(await rows(tags)).toEqual(whole("old", 300));
			const again = await load(next);
			expect(again.exitCode, again.log).toBe(0);
			expect(await rows(tags)).toEqual(whole("new", 20_000));
		},
	);
}

export function tryTerminations(): void {
	test.each(moments)(
		"told to end while %s, a load ends in order and can be tried again",
		async (_, strike) => {
			const fixture = await replacement();
			const end = await strike(fixture, "SIGTERM");
			expect(end.exitCode, end.log).toBe(75);
			expect(end.result).toMatchObject({
				outcome: "Failed",
				error: { code: "Stopped", retryable: true },
			});
			expect(await fixture.rows(tags)).toEqual(whole("old", 300));
		},
	);
}

export function tryKillsOfAdditions(): void {
	test.each([
		["downloading", "downloading the objects"],
		["inside the transaction", '"daysDone":0'],
		["around its commit", '"daysDone":1'],
	])(
		"a load that adds, killed %s, has added all or nothing, and the next attempt adds the rest once",
		async (_, words) => {
			const fixture = await loadFixture();
			const { load, rows } = fixture;
			const input = { adds: true as const };
			const first = await fixture.manifest({
				[days[0]!]: [eventsOf(days[0]!, 300, "old")],
			});
			expect((await load(first, { input })).exitCode).toBe(0);
			const more = await fixture.manifest({
				[days[0]!]: [eventsOf(days[0]!, 20_000, "new")],
			});
			const [old, next] = [first.dates[0]!, more.dates[0]!];
			const grown: Manifest = {
				...more,
				dates: [
					{
						date: old.date,
						rows: old.rows + next.rows,
						objects: [...old.objects, ...next.objects],
					},
				],
			};
			const end = await load(grown, {
				input,
				env: {
					NODE_OPTIONS: `--import ${new URL("strike-at-line.ts", import.meta.url).href}`,
					TEST_WORDS: words,
					TEST_SIGNAL: "SIGKILL",
				},
			});
			expect(end.exitCode).toBeNull();
			expect([[[300, 300]], [[20_300, 20_300]]]).toContainEqual(
				await rows(added),
			);
			const again = await load(grown, { input });
			expect(again.exitCode, again.log).toBe(0);
			expect(await rows(added)).toEqual([[20_300, 20_300]]);
		},
	);
}
