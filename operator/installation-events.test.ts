import pino from "pino";
import { expect, test, vi } from "vitest";
import type { ShardState } from "../packages/contracts/ledger.ts";
import type { KubeClient } from "../packages/kube/client/client.ts";
import type { KubeEventRecorder } from "../packages/kube/reconcile/kube-events.ts";
import { reportInterventions } from "./installation-events.ts";

test("what an administrator does to a stream is an Event on the Deployment once, and what is old is none", async () => {
	const state = (shard: number, secondsAgo: number, text: string) => ({
		...{ version: 1 as const, shard, lostFrames: {} },
		intervention: {
			time: new Date(Date.now() - secondsAgo * 1_000).toISOString(),
			text,
		},
	});
	const purged = state(1, 5, "Sequence 17 is purged.");
	const ledgers = {
		shards: [
			{ version: 1, shard: 0, lostFrames: {} },
			purged,
			state(2, 3_600, "An hour ago."),
		] as ShardState[],
		change: () => {},
		onChange(handler: () => void) {
			this.change = handler;
		},
	};
	const notes: object[] = [];
	const deps = {
		client: {
			get: async (_: unknown, name: string) => ({ metadata: { name } }),
		} as unknown as KubeClient,
		kubeEvents: {
			record: (...[, , note]: object[]) => notes.push(note!),
		} as unknown as KubeEventRecorder,
		log: pino({ level: "silent" }),
		deployment: { namespace: "tidemill", name: "operator" },
	};
	reportInterventions(deps, ledgers);
	ledgers.change();
	ledgers.shards = [purged, state(0, 0, "3 streams have 3 copies now.")];
	ledgers.change();
	await vi.waitFor(() =>
		expect(notes).toEqual(
			["Sequence 17 is purged.", "3 streams have 3 copies now."].map(
				(note) => ({
					...{ type: "Warning", reason: "BufferChanged" },
					...{ action: "Intervene", note },
				}),
			),
		),
	);
});
