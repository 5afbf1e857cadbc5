import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
	githubPayloads,
	serialisations,
} from "../support/examples/github-payloads.ts";
import {
	applyQuickstart,
	type Quickstart,
} from "../support/examples/quickstart.ts";
import { seededRandom } from "../support/seeded-random.ts";
import {
	type LocalMode,
	startLocalMode,
} from "../support/servers/local-mode.ts";
import {
	brokenPromises,
	newSent,
	type PlainRow,
	sendPersistently,
} from "../support/servers/persistent-sender.ts";

const victims = ["receive", "archive", "nats", "s3"];
const deathsOfEach = 3;

let local: LocalMode;
let quickstart: Quickstart;

beforeAll(async () => {
	local = await startLocalMode();
	quickstart = await applyQuickstart(local);
});

afterAll(() => local?.stop());

test("every acknowledged event is in the table once, and no other twice, though each part is killed and comes back", async () => {
	const random = seededRandom();
	const sent = newSent();
	let isOver = false;
	const sending = sendPersistently({
		urls: [quickstart.webhookURL],
		senders: 4,
		body: differentBody,
		isDone: () => isOver,
		sent,
	});
	// A Run amid it all may fail, and must end.
	const amid = [quickstart.tryPipeline()];
	try {
		for (const victim of shuffled(random)) {
			const target = sent.acknowledged.size + Math.floor(random() * 300);
			await vi.waitFor(
				() => expect(sent.acknowledged.size).toBeGreaterThan(target),
				{ timeout: 120_000, interval: 1 },
			);
			await local.killAndAwait(victim);
			if (random() < 0.2) amid.push(quickstart.tryPipeline());
		}
	} finally {
		isOver = true;
		await sending;
	}
	const phases = (await Promise.all(amid)).map(({ phase }) => phase);

	await quickstart.runPipeline();
	const rows = await quickstart.query<PlainRow>(
		"select event_id, md5(body) as digest from $table",
	);
	console.log(
		`${sent.acknowledged.size} events acknowledged, ${sent.unknown.size} unknown, ${rows.length} rows; Runs amid it all: ${phases.join(", ")}`,
	);
	expect(brokenPromises(rows, sent)).toEqual([]);
});

const payloads = githubPayloads();
const ways = Object.values(serialisations);

/** The payloads in turn, in all their serialisations, each with its number. */
function differentBody(n: number): string {
	const { value } = payloads[n % payloads.length]!;
	return ways[n % ways.length]!({ n, payload: n < 2000 ? value : null });
}

/** Each victim's deaths, in random order. */
function shuffled(random: () => number): string[] {
	return victims
		.flatMap((name) => Array<string>(deathsOfEach).fill(name))
		.map((name) => ({ name, order: random() }))
		.sort((a, b) => a.order - b.order)
		.map(({ name }) => name);
}
