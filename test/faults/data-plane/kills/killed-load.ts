import { expect } from "vitest";
import type { Manifest } from "../../../../packages/contracts/manifest.ts";
import {
	eventsOf,
	type LoadOptions,
	loadFixture,
} from "../../../support/fixtures/data-plane/load-fixture.ts";
import type { Operation } from "./killed-archive.ts";

/** `adds`: the table has rows of the first days, and gets more. */
export function loadOf(adds: boolean): Operation {
	const days = ["2026-03-01", "2026-03-02", "2026-03-03"];
	const many = 5_000;
	return {
		...(!adds && { usual: ["is in its transaction", "before"] as const }),
		whens: ["before"],
		steps: {
			"asks for the manifest": 1,
			downloads: 1,
			"is in its transaction": 1,
			"is about to commit": 1,
		},
		async open() {
			const fixture = await loadFixture();
			const { store, start, load, rows } = fixture;
			const input = adds ? { adds: true as const } : {};
			const generation = (tag: string, count: number) =>
				fixture.manifest(
					Object.fromEntries(
						days.map((date) => [date, [eventsOf(date, count, tag)]]),
					),
				);
			const old = await generation("old", 30);
			const first = await load(old, { input });
			expect(first.exitCode, first.log).toBe(0);
			const more = await generation("new", many);
			const next: Manifest = {
				...more,
				dates: more.dates.map((date, at) => {
					const before = adds ? old.dates[at]! : { rows: 0, objects: [] };
					return {
						date: date.date,
						rows: before.rows + date.rows,
						objects: [...before.objects, ...date.objects],
					};
				}),
			};
			const found = () =>
				rows(
					"select body->>'tag' as tag, count(*)::int, count(distinct event_id)::int from orders group by tag order by tag",
				);
			const [before, after] = [
				[["old", 90, 90]],
				[["new", 3 * many, 3 * many], ...(adds ? [["old", 90, 90]] : [])],
			];
			const lines: Record<string, string> = {
				"is in its transaction": '"daysDone":0',
				"is about to commit": '"daysDone":3',
			};
			const killed = async (
				options: LoadOptions,
				arm: (kill: () => void) => void,
			) => {
				const { process, finish } = await start(next, options);
				arm(() => process.child.kill("SIGKILL"));
				const end = await finish();
				store.onRequest = () => undefined;
				expect([before, after]).toContainEqual(await found());
				return end;
			};
			return {
				async kill(step) {
					const line = lines[step];
					const env = {
						NODE_OPTIONS: `--import ${new URL("../strike-at-line.ts", import.meta.url).href}`,
						TEST_WORDS: line!,
						TEST_SIGNAL: "SIGKILL",
					};
					let left = step === "downloads" ? 3 : 1;
					const end = await killed({ input, ...(line && { env }) }, (kill) => {
						if (line) return;
						store.onRequest = () => {
							if (--left === 0) kill();
						};
					});
					expect(end.exitCode, end.log).toBeNull();
					expect(end.result).toBeUndefined();
				},
				async killSometime() {
					await killed({ input, env: {} }, (kill) =>
						setTimeout(kill, 300 + Math.random() * 900),
					);
				},
				async finish() {
					const end = await load(next, { input });
					expect(end.exitCode, end.log).toBe(0);
					expect(await found()).toEqual(after);
				},
			};
		},
	};
}
