import { expect, test, vi } from "vitest";
import { withProgress } from "./progress.ts";

test("long work says each minute that it goes on, and nothing once it has ended", async () => {
	vi.useFakeTimers();
	try {
		const said: string[] = [];
		const { promise, resolve } = Promise.withResolvers<string>();
		const work = withProgress("installing it", promise, (line) =>
			said.push(line),
		);
		vi.advanceTimersByTime(120_000);
		resolve("installed");
		expect(await work).toBe("installed");
		vi.advanceTimersByTime(120_000);
		expect(said).toEqual([
			"  still installing it (1 min)",
			"  still installing it (2 min)",
		]);
	} finally {
		vi.useRealTimers();
	}
});
