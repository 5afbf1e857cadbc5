// In make test: test/promises/answered-event-is-kept.laptop.test.ts
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import {
	type Run,
	type RunSpec,
	runKind,
} from "../../../crds/generated/types.ts";
import { hasEnded, startedRunName } from "../../../crds/run.ts";
import { utcDate } from "../../../packages/contracts/utc-date.ts";
import { findCondition } from "../../../packages/kube/conditions.ts";
import {
	shiftClock,
	shiftedClock,
	shiftedNats,
} from "../../support/faults/shifted-nats.ts";
import { type EventFlow, startFlow } from "../../support/senders/event-flow.ts";
import {
	applyQuickstart,
	type Quickstart,
} from "../../support/senders/quickstart.ts";
import {
	type LocalMode,
	openLocalMode,
	startLocalMode,
} from "../../support/servers/local-mode.ts";
import { project } from "../../support/servers/role-server.ts";
import { temporaryDirectory } from "../../support/servers/test-server.ts";

/* All of Tidemill at a real apiserver, whose clocks can be set: the operator decides by its own. */

const parts = ["operator", "archive", "receive", "nats"] as const;
type Part = (typeof parts)[number];

let directory: string;
let stop: () => Promise<void>;
let local: LocalMode;
let quickstart: Quickstart;
let flow: EventFlow;

beforeAll(async () => {
	directory = await temporaryDirectory("clocks");
	const bin = join(directory, "bin");
	await mkdir(bin);
	const preload = join(import.meta.dirname, "../chaos/scene/clock-preload.ts");
	await script(
		join(directory, "tidemill"),
		`clock=${directory}/clock-$1`,
		`[ -f "$clock" ] && export CHAOS_CLOCK="$clock" NODE_OPTIONS="--import ${preload}"`,
		`exec "${process.execPath}" "${project}/cli/bin/tidemill.ts" "$@"`,
	);
	await script(
		join(bin, "nats-server"),
		`exec env ${shiftedClock}=${directory}/clock-nats ${await shiftedNats()} "$@"`,
	);
	await setClocks(parts, 0);
	const started = await startLocalMode({
		TIDEMILL_COMMAND: join(directory, "tidemill"),
		TIDEMILL_BIN: bin,
	});
	stop = started.stop;
	local = await openLocalMode("clocks", started.home);
	quickstart = await applyQuickstart(local);
	flow = startFlow(quickstart, { pauseMs: 100 });
});

// Also after a failure: the next case begins with clocks that are right.
afterEach(() => setClocks(parts, 0));

afterAll(async () => {
	await flow?.stop();
	await stop?.();
	await rm(directory, { recursive: true, force: true });
});

function script(file: string, ...lines: string[]): Promise<void> {
	return writeFile(file, ["#!/bin/sh", ...lines, ""].join("\n"), {
		mode: 0o755,
	});
}

async function setClocks(of: readonly Part[], hours: number): Promise<void> {
	const aheadMs = hours * 3_600_000;
	for (const part of of) {
		const file = join(directory, `clock-${part}`);
		if (part === "nats") shiftClock(file, aheadMs);
		else await writeFile(file, String(aheadMs));
	}
}

async function start(spec: Partial<RunSpec> = {}): Promise<string> {
	const name = startedRunName("orders");
	await local.client.create<Run>(runKind, {
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "Run",
		metadata: { name, namespace: local.namespace },
		spec: { pipelineRef: { name: "orders" }, ...spec },
	});
	return name;
}

/** Settles when the Run has ended, or archive's answer isn't believed. Returns which. */
function untilSaid(name: string): Promise<string> {
	return vi.waitFor(
		async () => {
			const run = await local.client.get<Run>(runKind, name, local.namespace);
			if (run && hasEnded(run)) return run.status!.phase!;
			const { reason } =
				findCondition(run?.status?.conditions, "Complete") ?? {};
			expect(reason).toBe("ManifestUnavailable");
			return reason!;
		},
		{ timeout: 120_000, interval: 100 },
	);
}

/** The events of days that have come, by the machine's clock, which were answered by now. */
function due(): string[] {
	return [...flow.sent.acknowledged.keys()].filter((id) => {
		const receivedAtMs = Number.parseInt(
			id.replaceAll("-", "").slice(0, 12),
			16,
		);
		return utcDate(receivedAtMs) <= utcDate(Date.now());
	});
}

const refused = "ManifestUnavailable";
test.each<[hours: number, Part[], said: string]>([
	[1, ["operator"], refused],
	[-1, ["operator"], refused],
	[-72, ["operator"], refused],
	[72, ["nats"], refused],
	[1, ["operator", "archive"], refused],
	[72, [...parts], "Succeeded"],
	// The table holds what a later Run has loaded.
	[-72, [...parts], "Failed"],
])(
	"clocks wrong by %i hours (%j): a Run says %s meanwhile; later Runs, also of the whole window, have each event once",
	async (hours, wrong, expected) => {
		await flow.untilMore(10);
		await setClocks(wrong, hours);
		const during = await start();
		expect(await untilSaid(during)).toBe(expected);
		const full = await start({ full: true });
		await setClocks(wrong, 0);
		await quickstart.endOf(during);
		await quickstart.endOf(full);
		await flow.untilMore(10);
		for (const spec of [{}, { full: true }]) {
			const answered = due();
			const { phase, error } = await quickstart.endOf(await start(spec));
			expect({ phase, error }).toEqual({ phase: "Succeeded" });
			const rows = await quickstart.query<{ event_id: string }>(
				"select event_id from $table",
			);
			const ids = rows.map(({ event_id }) => event_id);
			const loaded = new Set(ids);
			expect(loaded.size).toBe(ids.length);
			expect(answered.filter((id) => !loaded.has(id))).toEqual([]);
		}
	},
);
