import pino from "pino";
import { afterEach, expect, test, vi } from "vitest";
import type { KubeClient } from "../client/client.ts";
import type { Lease } from "../kinds.ts";
import { LeaderElection } from "./lease.ts";

afterEach(() => vi.restoreAllMocks());

/** An apiserver's Lease that nobody else reads. */
class LeaseDouble {
	lease: Lease | undefined;
	isAway = false;
	#version = 0;

	readonly client = {
		get: async () => {
			if (this.isAway) throw new Error("away");
			return structuredClone(this.lease);
		},
		create: async (_: unknown, lease: Lease) => this.#write(lease),
		replace: async (_: unknown, lease: Lease) => this.#write(lease),
	} as unknown as KubeClient;

	takeFor(holderIdentity: string): void {
		const { spec } = this.lease!;
		this.#write({ ...this.lease!, spec: { ...spec, holderIdentity } });
	}

	#write(lease: Lease): Lease {
		const resourceVersion = String(++this.#version);
		this.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion } };
		return structuredClone(this.lease);
	}
}

/** Leads until `after` has changed something, and then until it is told to stop, for five seconds at most. */
async function lead(
	double: LeaseDouble,
	after: (election: LeaderElection, stop: () => void) => unknown,
	durationMs = 75,
) {
	const stop = new AbortController();
	const tooLong = setTimeout(() => stop.abort(), 5_000);
	const election = new LeaderElection(
		double.client,
		{ namespace: "default", name: "lease", identity: "one", durationMs },
		pino({ level: "silent" }),
	);
	const outcome = await election.run(stop.signal, async (signal) => {
		await after(election, () => stop.abort());
		if (!signal.aborted)
			await new Promise((end) => signal.addEventListener("abort", end));
	});
	clearTimeout(tooLong);
	return outcome;
}

test("a leader that can't renew its lease must stop", async () => {
	const double = new LeaseDouble();
	expect(
		await lead(double, () => {
			double.isAway = true;
		}),
	).toBe("lost");
});

test("a leader whose lease another process has taken must stop, and leaves it to that one", async () => {
	const double = new LeaseDouble();
	const outcome = await lead(double, () => double.takeFor("two"));
	expect(outcome).toBe("lost");
	expect(double.lease!.spec!.holderIdentity).toBe("two");
});

test("a leader that was paused for longer than its deadline may write nothing", async () => {
	const double = new LeaseDouble();
	const outcome = await lead(
		double,
		(election, stop) => {
			election.assertHeld();
			const later = performance.now() + 40_001;
			const clock = vi.spyOn(performance, "now").mockReturnValue(later);
			expect(() => election.assertHeld()).toThrow("nothing is written");
			expect(election.isOverdue).toBe(false);
			clock.mockReturnValue(later + 20_000);
			expect(election.isOverdue).toBe(true);
			clock.mockRestore();
			stop();
		},
		60_000,
	);
	expect(outcome).toBe("released");
	expect(double.lease!.spec!.holderIdentity).toBe("");
});
