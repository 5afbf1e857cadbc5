// In make test: test/faults/control-plane/operator-kill.laptop.test.ts
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { type Pipeline, pipelineKind } from "../../../crds/generated/types.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import { AheadClock } from "../../support/faults/operator-clock.ts";
import { eventReasons } from "../../support/fixtures/control-plane/cluster-state.ts";
import {
	type EverMade,
	OperatorWorld,
} from "../../support/fixtures/control-plane/operator-world.ts";
import {
	isWrite,
	type SeenRequest,
} from "../../support/proxies/apiserver-proxy.ts";

const wait = { timeout: 120_000, interval: 50 };
/** More than an operator writes for one slot, however it falls into steps. */
const mostWrites = 27;
/** Namespaces of one operator that is killed: fewer than it has workers for Runs, as each of them waits for an answer. */
const atOnce = 7;

let world: OperatorWorld;
let settled: string[];

beforeAll(async () => {
	world = await OperatorWorld.start();
	settled = await world.settledNamespaces(
		Math.ceil(mostWrites / atOnce) * atOnce + 3,
	);
});

afterEach(async () => {
	world.proxy.onRequest = () => undefined;
	world.proxy.onAnswer = () => undefined;
	await world.killOperators();
});

afterAll(() => world?.stop());

test("killed after any of its writes, the next operator ends with one Run and one Job for the slot", async () => {
	const crashes: MissedSlot[] = [];
	for (let writes = 1, areAll = true; areAll && writes <= mostWrites; ) {
		const missed: MissedSlot[] = [];
		while (missed.length < atOnce) {
			const namespace = settled.pop()!;
			const made = await world.everMade(namespace);
			const run = await world.missSlots(namespace);
			missed.push({ namespace, made, run, writes: writes++ });
		}
		const crashed = await killAfterWrites(missed);
		crashes.push(...crashed);
		areAll = crashed.length === missed.length;
	}
	// From the Run's creation to the removal of its Job.
	expect(crashes.length).toBeGreaterThanOrEqual(8);
	expect(crashes.length).toBeLessThan(mostWrites);
	// Instead of waiting until it has run out.
	await world.client.delete(
		kinds.lease,
		"tidemill-operator",
		crashes[0]!.namespace,
	);
	world.startOperator(crashes.map(({ namespace }) => namespace));
	for (const { namespace, run, made } of crashes) {
		await world.recorded(namespace, run);
		await made.wasOnly(run);
	}
});

interface MissedSlot {
	namespace: string;
	/** Of the slot. */
	run: string;
	made: EverMade;
	/** After so many the operator is killed. */
	writes: number;
}

/**
 * Kills an operator when it has done so many writes in each of the namespaces, before the answer to the last one arrives. A
 * namespace that has its number stands still until the others have theirs. Returns those whose Run it hadn't recorded before.
 */
async function killAfterWrites(missed: MissedSlot[]): Promise<MissedSlot[]> {
	const left = new Map(
		missed.map(({ namespace, writes }) => [namespace, writes]),
	);
	const never = new Promise(() => {});
	const namespaceOf = (request: SeenRequest) =>
		(isWrite(request) &&
			request.path.split("/namespaces/")[1]?.split("/")[0]) ||
		"";
	world.proxy.onRequest = (request) =>
		left.get(namespaceOf(request)) === 0 ? never : undefined;
	world.proxy.onAnswer = (request) => {
		const namespace = namespaceOf(request);
		const writes = left.get(namespace);
		if (writes === undefined) return undefined;
		left.set(namespace, Math.max(writes - 1, 0));
		return writes > 1 ? undefined : never;
	};
	const namespaces = missed.map(({ namespace }) => namespace);
	const operator = world.startOperator(namespaces, { throughProxy: true });
	const isStill = ({ namespace }: MissedSlot) => left.get(namespace) === 0;
	await vi.waitFor(async () => {
		for (const each of missed)
			expect(
				isStill(each) || (await world.isRecorded(each.namespace, each.run)),
			).toBe(true);
	}, wait);
	operator.child.kill("SIGKILL");
	await operator.ended;
	return missed.filter(isStill);
}

/** Holds back the answer to a Run's input: the next thing is its Job. */
function holdInputOf(run: string) {
	const { promise: goOn, resolve: release } = Promise.withResolvers<void>();
	const { promise: request, resolve: hold } =
		Promise.withResolvers<SeenRequest>();
	world.proxy.onAnswer = (request) => {
		const isInput = request.path.endsWith(`${run}-input`);
		if (request.method !== "PATCH" || !isInput) return undefined;
		hold(request);
		return goOn;
	};
	return { request, release };
}

test("a leader that was stopped for longer than its lease starts nothing when it goes on", async () => {
	const namespace = settled.pop()!;
	const made = await world.everMade(namespace);
	const run = await world.missSlots(namespace);
	const { request: held, release } = holdInputOf(run);
	const clock = await AheadClock.make();
	const first = world.startOperator([namespace], {
		throughProxy: true,
		env: { LEASE_DURATION_SECONDS: "30", ...clock.env },
	});
	const request = await held;
	first.child.kill("SIGSTOP");
	// Instead of waiting until the lease has run out, by its own clock and for the next operator.
	await clock.moveTo(60_000);
	await world.client.delete(kinds.lease, "tidemill-operator", namespace);
	world.startOperator([namespace]);
	await world.recorded(namespace, run);
	release();
	await vi.waitUntil(() => request.isAnswered, wait);
	// Another controller may have written just before the signal came.
	const before = world.proxy.requests.length;
	first.child.kill("SIGCONT");
	expect((await first.ended).exitCode).toBe(1);
	const late = world.proxy.requests.slice(before);
	expect(late.filter(isWrite)).toEqual([]);
	await made.wasOnly(run);
});

test("a leader whose lease has run out by its own clock starts nothing before it reads the lease", async () => {
	const namespace = settled.pop()!;
	const made = await world.everMade(namespace);
	const run = await world.missSlots(namespace);
	const { request, release } = holdInputOf(run);
	const clock = await AheadClock.make();
	const first = world.startOperator([namespace], {
		throughProxy: true,
		env: { LEASE_DURATION_SECONDS: "30", ...clock.env },
	});
	await request;
	// Keep it from the lease: a renewal by the new clock would be valid.
	world.proxy.onRequest = ({ path }) =>
		/\/leases\//.test(path) ? new Promise(() => {}) : undefined;
	// More than the two thirds after which it may not write, and less than its timers need to tell.
	await clock.moveTo(25_000);
	release();
	expect((await first.ended).exitCode).toBe(1);
	const jobs = world.proxy.requests.filter(
		(request) =>
			isWrite(request) && request.path.endsWith(`/${namespace}/jobs`),
	);
	expect(jobs).toEqual([]);
	await world.client.delete(kinds.lease, "tidemill-operator", namespace);
	world.startOperator([namespace]);
	await world.recorded(namespace, run);
	await made.wasOnly(run);
});

test("a Run that the operator's memory doesn't have yet doesn't count as deleted", async () => {
	const namespace = settled.pop()!;
	const made = await world.everMade(namespace);
	const run = await world.missSlots(namespace);
	const { promise: goOn, resolve: release } = Promise.withResolvers<void>();
	// What was listed at the start stays in memory.
	world.proxy.onRequest = ({ path, query }) =>
		path.endsWith("/runs") && query.has("watch") ? goOn : undefined;
	world.startOperator([namespace], { throughProxy: true });
	const becomes = (isMeant: (pipeline: Pipeline) => boolean) =>
		vi.waitFor(async () => {
			const pipeline = await world.pipelineIn(namespace);
			expect(isMeant(pipeline)).toBe(true);
			return pipeline;
		}, wait);
	await becomes(({ status }) => status?.activeRun === run);
	const change = { spec: { displayName: "Looked at again" } };
	await world.client.patch(pipelineKind, "load", namespace, change, "merge");
	const { status } = await becomes(
		({ metadata, status }) =>
			status?.observedGeneration === metadata.generation,
	);
	expect(status?.activeRun).toBe(run);
	release();
	await world.recorded(namespace, run);
	await made.wasOnly(run);
	const told = await eventReasons(
		world.client,
		pipelineKind,
		namespace,
		"load",
	);
	expect(told).not.toContain("RunDeleted");
});
