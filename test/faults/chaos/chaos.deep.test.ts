// In make test: test/promises/answered-event-is-kept.laptop.test.ts
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { project } from "../../support/servers/role-server.ts";
import { planText, runSeed } from "./seed.ts";
import { type Stack, startStack } from "./stack.ts";

/**
 * `make chaos SEEDS=1..200`. Unless it is told otherwise: a full disk, a full JetStream, an emptied etcd, power loss, a lost disk, a
 * forgotten frame, midnight, an old copy of NATS and of the bucket, an object and a day that are gone, compaction, and wrong clocks of
 * receive and NATS.
 */
const seeds = seedsOf(process.env.CHAOS_SEEDS ?? "47,49..51,53,55..59,90,92");

let stack: Stack;
beforeAll(async () => {
	stack = await startStack();
});
afterAll(() => stack?.stop());

const passed: number[] = [];
const failed: number[] = [];
afterAll(() => {
	console.log(
		`${passed.length} of ${seeds.length} seeds passed${failed.length > 0 ? `; failed: ${failed.join(", ")}` : ""}`,
	);
});

test.each(seeds)("seed %i: each event exactly once", async (seed) => {
	const startedMs = performance.now();
	const plan = planText(seed);
	const evidence = join(project, `.tidemill/chaos/seed-${seed}`);
	try {
		const { acknowledged, unknown, rejected, rows, ...more } = await runSeed(
			stack,
			seed,
			{ evidence },
		);
		passed.push(seed);
		console.log(
			`seed ${seed} passed in ${seconds(startedMs)} s: ${acknowledged} acknowledged, ${unknown} unknown, ${rejected} rejected, ${rows} rows, ${more.quarantined} of them in quarantine${more.isLoaded ? ", loaded" : ""}. ${plan}`,
		);
	} catch (error) {
		failed.push(seed);
		console.log(
			`seed ${seed} FAILED in ${seconds(startedMs)} s: ${(error as Error).message}. ${plan}\nLogs and files: ${evidence}. The same again: make chaos SEED=${seed}`,
		);
		throw error;
	}
});

function seconds(sinceMs: number): string {
	return ((performance.now() - sinceMs) / 1000).toFixed(1);
}

/** `7`, `1..200`, or several of these separated by commas. */
function seedsOf(text: string): number[] {
	return text.split(",").flatMap((part) => {
		const [first = Number.NaN, last = first] = part.split("..").map(Number);
		expect(first, `CHAOS_SEEDS ${text}`).toBeLessThanOrEqual(last);
		return Array.from({ length: last - first + 1 }, (_, i) => first + i);
	});
}
