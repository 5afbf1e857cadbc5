import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BrowserTab } from "../../test/support/doubles/browser-tab.ts";

let loads = 0;

beforeEach(() => void vi.useFakeTimers({ now: ++loads * 86_400_000 }));
afterEach(() => void vi.useRealTimers());

describe.each<[when: string, load: (tab: BrowserTab) => Promise<void>]>([
	[
		"a file of the app",
		async () => {
			const { reloadForFile } = await import("./upgrade.ts");
			reloadForFile(new AbortController().signal);
		},
	],
	[
		"a file without which the app doesn't begin",
		async (tab) => {
			// Each page runs it anew.
			tab.load();
			const script = `../public/missing-file.js?${++loads}`;
			await import(script);
			tab.missScript();
		},
	],
])("a page that misses %s", (_, load) => {
	test("loads itself again a few times and then no more, and anew some time later", async () => {
		const tab = new BrowserTab("sources");
		tab.answer(() => ({ body: { build: "next" } }));
		const reloads: number[] = [];
		for (const waitMs of [...Array(7).fill(100_000), 600_000]) {
			await load(tab);
			await vi.advanceTimersByTimeAsync(waitMs);
			reloads.push(tab.reloads);
		}
		expect(reloads).toEqual([1, 2, 3, 4, 5, 5, 5, 5]);
		await load(tab);
		await vi.advanceTimersByTimeAsync(3_000);
		expect(tab.reloads).toBe(6);
	});

	test("stays while the API doesn't answer, where the browser's own page would stay for ever", async () => {
		const tab = new BrowserTab("sources");
		await load(tab);
		await vi.advanceTimersByTimeAsync(60_000);
		expect(tab.reloads).toBe(0);
		tab.answer(() => ({ body: { build: "next" } }));
		await vi.advanceTimersByTimeAsync(3_000);
		expect(tab.reloads).toBe(1);
	});
});
