import { pino } from "pino";
import { expect, onTestFinished, test, vi } from "vitest";
import { annotation } from "../crds/labels.ts";
import type { ShardState } from "../packages/contracts/ledger.ts";
import {
	KubeApiError,
	type KubeClient,
} from "../packages/kube/client/client.ts";
import type { KubeObject } from "../packages/kube/resource.ts";
import { noteOnLease, noteStoppedShards, stoppedShards } from "./lease-note.ts";

const log = pino({ level: "silent" });
const lease = { namespace: "tidemill", name: "operator" };

async function patchesOf(noted: string | undefined, text: string | undefined) {
	const patches: unknown[] = [];
	const annotations =
		noted === undefined ? {} : { [annotation.natsAccount]: noted };
	const client = {
		get: async () => ({ metadata: { ...lease, annotations } }),
		patch: async (...[, , , patch]: unknown[]) => patches.push(patch),
	} as unknown as KubeClient;
	const notes = { client, lease, log };
	expect(await noteOnLease(notes, annotation.natsAccount, text)).toBe(true);
	return patches;
}

test.each([
	["a missing account", undefined, "shared", "shared"],
	["an account that is there by now", "shared", undefined, null],
])("the Lease tells of %s", async (_, noted, text, value) => {
	const annotations = { [annotation.natsAccount]: value };
	expect(await patchesOf(noted, text)).toEqual([{ metadata: { annotations } }]);
});

test("what the Lease says already isn't written again", async () => {
	expect(await patchesOf("shared", "shared")).toEqual([]);
	expect(await patchesOf(undefined, undefined)).toEqual([]);
});

test("an apiserver that refuses doesn't end the operator", async () => {
	const client = {
		get: async () => {
			throw new KubeApiError(403, { reason: "Forbidden" });
		},
	} as unknown as KubeClient;
	const notes = { client, lease, log };
	expect(await noteOnLease(notes, annotation.natsAccount, "shared")).toBe(
		false,
	);
});

test("what stops shards is written once, again after a refusal, and goes when it is over", async () => {
	const ledgers: { shards: ShardState[] } = { shards: [] };
	const backlogs = { full: [0, 2] };
	const stopping = new AbortController();
	const patches: unknown[] = [];
	let isRefused = true;
	const client = {
		get: async () => ({
			metadata: {
				...lease,
				annotations: { [annotation.stoppedShards]: patches.at(-1) },
			},
		}),
		patch: async (...args: unknown[]) => {
			if (isRefused) throw new KubeApiError(403, { reason: "Forbidden" });
			const { metadata } = args[3] as KubeObject;
			patches.push(metadata.annotations?.[annotation.stoppedShards]);
		},
	} as unknown as KubeClient;
	vi.useFakeTimers();
	onTestFinished(() => void vi.useRealTimers());
	const read = () => stoppedShards(backlogs, ledgers);
	const run = noteStoppedShards({ client, lease, log }, read, stopping.signal);
	const rounds = () => vi.advanceTimersByTimeAsync(20_000);
	await rounds();
	isRefused = false;
	await rounds();
	const state = { version: 1 as const, lostFrames: {} };
	ledgers.shards = [
		{ ...state, shard: 1, stopped: {} },
		{ ...state, shard: 2, stopped: { alarm: "CutMismatch" } },
		{ ...state, shard: 3 },
	];
	await rounds();
	ledgers.shards = [];
	backlogs.full = [];
	await rounds();
	stopping.abort();
	await run;
	expect(patches).toEqual([
		'{"0":"BufferFull","2":"BufferFull"}',
		'{"0":"BufferFull","1":"ArchiveFails","2":"CutMismatch"}',
		null,
	]);
});
