import { afterAll, beforeAll, expect, test } from "vitest";
import { type EventFlow, startFlow } from "../support/senders/event-flow.ts";
import {
	applyQuickstart,
	type Quickstart,
} from "../support/senders/quickstart.ts";
import {
	type LocalMode,
	openLocalMode,
} from "../support/servers/local-mode.ts";

/* README: "A run is complete." */

let local: LocalMode;
let quickstart: Quickstart;
let flow: EventFlow;

beforeAll(async () => {
	local = await openLocalMode("complete");
	quickstart = await applyQuickstart(local);
	flow = startFlow(quickstart, { pauseMs: 80 });
});

afterAll(() => flow?.stop());

test.each([
	["while more events come", undefined],
	["though archive is killed as it begins", "archive"],
	["though the S3 gateway is killed as it begins", "s3"],
	["though NATS is killed as it begins", "nats"],
	["though the operator is killed as it begins", "operator"],
])(
	"a Run that succeeds has every event that was acknowledged before it began, %s",
	async (_, victim) => {
		await flow.untilMore(40);
		const answered = [...flow.sent.acknowledged.keys()];
		// Killed a moment earlier: an answer that dies with archive is missed only after seconds.
		const killing = victim ? local.killAndAwait(victim) : undefined;
		const run = await quickstart.startRun();
		await killing;
		// One that fails because of the death promises nothing; the next has to keep the promise.
		const { phase } = await quickstart.endOf(run);
		if (phase !== "Succeeded") await quickstart.runPipeline();
		const rows = await quickstart.query<{ event_id: string }>(
			"select event_id from $table",
		);
		const loaded = new Set(rows.map(({ event_id }) => event_id));
		expect(answered.filter((id) => !loaded.has(id))).toEqual([]);
	},
);
