import { expect, test } from "vitest";
import { eventsOf, type LoadFixture, loadFixture } from "../load-fixture.ts";
import type { TidemillProcess } from "../tidemill-process.ts";

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

type Strike = (
	fixture: LoadFixture,
	process: TidemillProcess,
	signal: NodeJS.Signals,
) => void;

const onLine =
	(words: string): Strike =>
	(_, process, signal) => {
		process.onLine = (line) => {
			if (line.includes(words)) process.child.kill(signal);
		};
	};

const onRequest =
	(count: number): Strike =>
	({ store }, process, signal) => {
		let asked = 0;
		store.onRequest = () => {
			if (++asked === count) process.child.kill(signal);
		};
	};

const moments: [string, Strike][] = [
	["asking for the manifest", onRequest(1)],
	["downloading", onRequest(3)],
	["inside the transaction", onLine('"daysDone":0')],
];

/** What a load says before it commits. */
const allIn = '"daysDone":3';

/** Strikes at a load, a new one if it may have committed before the signal came. */
async function struck(strike: Strike, signal: NodeJS.Signals) {
	for (let attempt = 1; ; attempt++) {
		const fixture = await replacement();
		const { process, finish } = await fixture.start(fixture.next);
		strike(fixture, process, signal);
		const end = await finish();
		fixture.store.onRequest = () => undefined;
		if (!end.log.includes(allIn) || attempt === 10) return { ...fixture, end };
	}
}

test.each(moments)(
	"killed while %s, a load leaves the old table, and the next attempt the new one",
	async (_, strike) => {
		const { end, rows, load, next } = await struck(strike, "SIGKILL");
		expect(end.result).toBeUndefined();
		expect(await rows(tags)).toEqual(whole("old", 300));
		const again = await load(next);
		expect(again.exitCode, again.log).toBe(0);
		expect(await rows(tags)).toEqual(whole("new", 20_000));
	},
);

test.each(moments)(
	"told to end while %s, a load ends in order and can be tried again",
	async (_, strike) => {
		const { end, rows } = await struck(strike, "SIGTERM");
		expect(end.exitCode, end.log).toBe(75);
		expect(end.result).toMatchObject({
			outcome: "Failed",
			error: { code: "Stopped", retryable: true },
		});
		expect(await rows(tags)).toEqual(whole("old", 300));
	},
);

test("killed about the commit, a load leaves the old table or the new one, never a mixture", async () => {
	const fixture = await replacement();
	const { start, rows, next } = fixture;
	const { process, finish } = await start(next);
	onLine(allIn)(fixture, process, "SIGKILL");
	await finish();
	expect([whole("old", 300), whole("new", 20_000)]).toContainEqual(
		await rows(tags),
	);
});
