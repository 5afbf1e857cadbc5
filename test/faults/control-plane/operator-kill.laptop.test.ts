import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
	dailyLoad,
	OperatorWorld,
} from "../../support/fixtures/control-plane/operator-world.ts";
import { isWrite } from "../../support/proxies/apiserver-proxy.ts";

let world: OperatorWorld;
beforeAll(async () => {
	world = await OperatorWorld.start();
});
afterAll(() => world?.stop());

test("an operator that is killed before it hears that a Run's Job is there leaves one Run and one Job to the next operator", async () => {
	const [namespace] = world.accounts;
	await world.apply(namespace, dailyLoad);
	world.startOperator([namespace], { throughProxy: true });
	await vi.waitFor(
		async () => {
			const { status } = await world.pipelineIn(namespace);
			expect(status?.phase).toBe("Ready");
			expect(status?.schedule?.since).toBeDefined();
		},
		{ timeout: 120_000, interval: 50 },
	);
	const made = await world.everMade(namespace);
	const { promise: isCreated, resolve } = Promise.withResolvers<void>();
	world.proxy.onAnswer = (request) => {
		const isJob = request.path.endsWith(`/namespaces/${namespace}/jobs`);
		if (!isJob || !isWrite(request)) return undefined;
		resolve();
		return new Promise(() => {});
	};
	const run = await world.missSlots(namespace);
	await isCreated;
	await world.killOperator();
	world.startOperator([namespace]);
	await world.recorded(namespace, run);
	await made.wasOnly(run);
});
