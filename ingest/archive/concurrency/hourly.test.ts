import pino from "pino";
import { expect, test, vi } from "vitest";
import { hourly } from "./hourly.ts";
import { pause } from "./wait.ts";

vi.mock("./wait.ts", () => ({ pause: vi.fn() }));

test("failures are repeated ever more seldom, and a success begins anew", async () => {
	vi.spyOn(Math, "random").mockReturnValue(1);
	const stop = new AbortController();
	const outcomes = "xxxxxx.x.".split("");
	const work = async () => {
		const outcome = outcomes.shift();
		if (outcomes.length === 0) stop.abort();
		if (outcome === "x") throw new Error("no store");
	};
	const { signal } = stop;
	await hourly("work", work, { log: pino({ level: "silent" }), signal });
	const minutes = vi.mocked(pause).mock.calls.map(([ms]) => ms / 60_000);
	expect(minutes).toEqual([1, 2, 4, 8, 10, 10, 60, 1, 60]);
});
