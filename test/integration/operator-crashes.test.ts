import {
	afterAll,
	afterEach,
	beforeAll,
	expect,
	inject,
	test,
	vi,
} from "vitest";
import { kinds } from "../../operator/kube/kinds.ts";
import { isWrite, type SeenRequest } from "../apiserver-proxy.ts";
import { OperatorWorld } from "../operator-world.ts";

const wait = { timeout: 120_000, interval: 20 };
/** More than an operator writes for one slot, however it falls into steps. */
const mostWrites = 24;

let world: OperatorWorld;

beforeAll(async () => {
	world = await OperatorWorld.start(inject("kubeconfig"));
});

afterEach(() => world.killOperators());

afterAll(() => world?.stop());

test("killed after any of its writes, the next operator ends with one Run and one Job for the slot", async () => {
	const namespaces = await world.settledNamespaces(mostWrites);
	let reached = 0;
	for (const [index, namespace] of namespaces.entries()) {
		const made = await world.everMade(namespace);
		const run = await world.missSlots(namespace);
		let writes = 0;
		world.proxy.onAnswer = (request) => {
			// A Lease is renewed the more often, the slower the machine is.
			const isStep = isWrite(request) && !/\/leases\b/.test(request.path);
			if (!isStep || writes++ < index) return undefined;
			// Done, and nobody hears of it.
			operator.child.kill("SIGKILL");
			return new Promise(() => {});
		};
		const operator = world.startOperator([namespace], { throughProxy: true });
		let isOver = false;
		void operator.ended.then(({ signal }) => {
			isOver = signal === "SIGKILL";
		});
		await vi.waitUntil(
			async () => isOver || (await world.isRecorded(namespace, run)),
			wait,
		);
		if (isOver) {
			reached++;
			// Instead of waiting until it has run out.
			await world.client.delete(kinds.lease, "tidemill-operator", namespace);
			world.startOperator([namespace]);
			await world.recorded(namespace, run);
		}
		expect(made()).toEqual({ runs: [run], jobs: [run] });
		await world.killOperators();
		if (!isOver) break;
	}
	// From the Run's creation to the removal of its Job.
	expect(reached).toBeGreaterThanOrEqual(8);
	expect(reached).toBeLessThan(mostWrites);
});

test("a leader that was stopped for longer than its lease starts nothing when it goes on", async () => {
	const [namespace = ""] = await world.settledNamespaces(1);
	const made = await world.everMade(namespace);
	const run = await world.missSlots(namespace);
	const { promise: goOn, resolve: release } = Promise.withResolvers<void>();
	const { promise: held, resolve: hold } = Promise.withResolvers<SeenRequest>();
	// The input is there; with this answer the next thing is the Job.
	world.proxy.onAnswer = (request) => {
		const isInput = request.path.endsWith(`${run}-input`);
		if (request.method !== "PATCH" || !isInput) return undefined;
		hold(request);
		return goOn;
	};
	const first = world.startOperator([namespace], { throughProxy: true });
	const request = await held;
	first.child.kill("SIGSTOP");
	// Takes over when the lease of the first has run out before its eyes.
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
	expect(made()).toEqual({ runs: [run], jobs: [run] });
});
