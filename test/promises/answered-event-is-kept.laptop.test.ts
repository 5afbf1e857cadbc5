import { beforeAll, expect, test } from "vitest";
import { seededRandom } from "../support/seeded-random.ts";
import { startFlow } from "../support/senders/event-flow.ts";
import {
	applyQuickstart,
	type Quickstart,
} from "../support/senders/quickstart.ts";
import {
	type LocalMode,
	openLocalMode,
} from "../support/servers/local-mode.ts";

/* README: "An acknowledged event is kept." */

const victims = ["receive", "archive", "nats", "s3"];
const deathsOfEach = 3;
/** Many answers at the moment of a death. */
const pauseMs = 5;
/** Of the seconds until the server is back. */
const easyPauseMs = 100;

let local: LocalMode;
let quickstart: Quickstart;

beforeAll(async () => {
	local = await openLocalMode("kept");
	quickstart = await applyQuickstart(local);
});

test("every acknowledged event is in the table, though each server on its way is killed again and again", async () => {
	const random = seededRandom();
	const flow = startFlow(quickstart, { pauseMs });
	// A Run in the middle of it may fail, and must end.
	const amid = [quickstart.tryPipeline()];
	try {
		for (const victim of shuffled(random)) {
			await flow.untilMore(1 + Math.floor(random() * 300));
			const returned = local.killAndAwait(victim);
			flow.pace(easyPauseMs);
			await returned;
			flow.pace(pauseMs);
			if (random() < 0.2) amid.push(quickstart.tryPipeline());
		}
	} finally {
		await flow.stop();
	}
	const phases = (await Promise.all(amid)).map(({ phase }) => phase);
	console.log(`Runs in the middle of it: ${phases.join(", ")}`);

	await quickstart.runPipeline();
	expect(await flow.brokenPromises()).toEqual([]);
});

/** Each victim's deaths, in random order. */
function shuffled(random: () => number): string[] {
	return victims
		.flatMap((name) => Array<string>(deathsOfEach).fill(name))
		.map((name) => ({ name, order: random() }))
		.sort((a, b) => a.order - b.order)
		.map(({ name }) => name);
}
