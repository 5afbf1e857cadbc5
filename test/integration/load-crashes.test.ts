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

test.each(moments)(
	"killed while %s, a load leaves the old table, and the next attempt the new one",
	async (_, strike) => {
		const fixture = await replacement();
		const { start, rows, load, next, store } = fixture;
		const { process, finish } = await start(next);
		strike(fixture, process, "SIGKILL");
		expect((await finish()).result).toBeUndefined();
		store.onRequest = () => undefined;
		expect(await rows(tags)).toEqual(whole("old", 300));
		const again = await load(next);
		expect(again.exitCode, again.log).toBe(0);
		expect(await rows(tags)).toEqual(whole("new", 20_000));
	},
);

test.each(moments)(
	"told to end while %s, a load ends in order and can be tried again",
	async (_, strike) => {
		const fixture = await replacement();
		const { start, rows, next } = fixture;
		const { process, finish } = await start(next);
		strike(fixture, process, "SIGTERM");
		const { exitCode, result, log } = await finish();
		expect(exitCode, log).toBe(75);
		expect(result).toMatchObject({
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
	onLine('"daysDone":3')(fixture, process, "SIGKILL");
	await finish();
	expect([whole("old", 300), whole("new", 20_000)]).toContainEqual(
		await rows(tags),
	);
});
