import { randomBytes } from "node:crypto";
import { beforeEach, expect, inject, test, vi } from "vitest";
import { KubeClient } from "../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../packages/kube/client/kube-config.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { LeaderElection } from "../../packages/kube/reconcile/lease.ts";
import { createLog } from "../../packages/service/log.ts";

const client = KubeClient.fromConfig(loadKubeConfig(inject("kubeconfig")));
const log = createLog("test");
const wait = { timeout: 120_000, interval: 20 };
const namespace = "default";
/** A lease that survives a busy machine: it is lost after 20 s without a renewal. */
const patientMs = 30_000;
let name = "";
let leading: string[] = [];

beforeEach(() => {
	name = `lease-${randomBytes(4).toString("hex")}`;
	leading = [];
});

function candidate(identity: string, its = client, durationMs = 6_000) {
	const stop = new AbortController();
	const election = new LeaderElection(
		its,
		{ namespace, name, identity, durationMs },
		log,
	);
	const outcome = election.run(stop.signal, async (signal) => {
		leading.push(identity);
		await new Promise((resolve) =>
			signal.addEventListener("abort", resolve, { once: true }),
		);
		leading.splice(leading.indexOf(identity), 1);
	});
	return { election, stop: () => stop.abort(), outcome };
}

function holder() {
	return client.get(kinds.lease, name, namespace);
}

test("of two candidates one leads, and the other does when the first gives the lease back", async () => {
	const first = candidate("one", client, patientMs);
	await vi.waitFor(() => expect(leading).toEqual(["one"]), wait);
	const second = candidate("two", client, patientMs);
	await vi.waitFor(async () => {
		// Several renewals while the other one stands by.
		const lease = await holder();
		expect(lease?.spec?.renewTime).not.toBe(lease?.spec?.acquireTime);
	}, wait);
	expect(leading).toEqual(["one"]);
	first.stop();
	expect(await first.outcome).toBe("released");
	await vi.waitFor(() => expect(leading).toEqual(["two"]), wait);
	expect((await holder())?.spec?.leaseTransitions).toBe(1);
	second.stop();
	expect(await second.outcome).toBe("released");
	expect((await holder())?.spec?.holderIdentity ?? "").toBe("");
});

test("a leader that can't renew stops before another one starts", async () => {
	const cutOff = KubeClient.fromConfig(loadKubeConfig(inject("kubeconfig")));
	const first = candidate("one", cutOff);
	await vi.waitFor(() => expect(leading).toEqual(["one"]), wait);
	const second = candidate("two");
	vi.spyOn(cutOff, "get").mockRejectedValue(new Error("cut off"));
	expect(await first.outcome).toBe("lost");
	expect(leading).toEqual([]);
	await vi.waitFor(() => expect(leading).toEqual(["two"]), wait);
	second.stop();
	await second.outcome;
});

test("a leader whose request hangs stops as well", async () => {
	const stuck = KubeClient.fromConfig(loadKubeConfig(inject("kubeconfig")));
	const first = candidate("one", stuck);
	await vi.waitFor(() => expect(leading).toEqual(["one"]), wait);
	vi.spyOn(stuck, "get").mockReturnValue(new Promise(() => {}));
	expect(await first.outcome).toBe("lost");
	expect(leading).toEqual([]);
});

test("a leader that was stopped for longer than its deadline writes nothing before it reads the lease", async () => {
	const { election, outcome, stop } = candidate("one", client, 300_000);
	const config = loadKubeConfig(inject("kubeconfig"));
	const guarded = KubeClient.fromConfig(config, {
		guard: () => election.assertHeld(),
	});
	const write = (name: string) =>
		guarded.create(kinds.configMap, { metadata: { name, namespace } });
	await expect(write(name)).rejects.toThrow("nothing is written");
	await vi.waitFor(() => expect(leading).toEqual(["one"]), wait);
	await write(name);
	const later = performance.now() + 200_500;
	const clock = vi.spyOn(performance, "now").mockReturnValue(later);
	const refused = expect(write(`${name}-late`)).rejects.toThrow(
		"nothing is written",
	);
	expect(election.isOverdue).toBe(false);
	clock.mockReturnValue(later + 100_000);
	expect(election.isOverdue).toBe(true);
	clock.mockRestore();
	await refused;
	expect(
		await client.get(kinds.configMap, `${name}-late`, namespace),
	).toBeUndefined();
	stop();
	await outcome;
});
