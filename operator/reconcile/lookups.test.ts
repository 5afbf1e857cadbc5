import type { NatsConnection } from "@nats-io/transport-node";
import { expect, test, vi } from "vitest";
import { createLog } from "../../packages/service/log.ts";
import { listedClient } from "../../test/support/doubles/kubernetes/listed-client.ts";
import {
	destinationOf,
	pipelineOf,
	runOf,
	sourceOf,
} from "../../test/support/examples/resource-examples.ts";
import { JobSlots } from "../jobs/slots.ts";
import { NotificationOutbox } from "../notification/outbox.ts";
import { createPipelineController } from "../pipeline/controller.ts";
import { createRunController } from "../run/controller.ts";
import { readRun } from "../run/state.ts";
import type { OperatorContext } from "./context.ts";
import { createInformers } from "./informers.ts";

const log = createLog("test");
log.level = "silent";

/** As many as one account can create in a minute. All Pipelines want one table. */
function crowd(count: number) {
	const names = Array.from({ length: count }, (_, index) => `n${index}`);
	const completionTime = "2026-03-31T12:00:00Z";
	const ended = { phase: "Succeeded", completionTime };
	return {
		runs: names.map((name, index) => {
			const run = runOf(name, index % 2 ? ended : { phase: "Pending" });
			run.spec.pipelineRef.name = name;
			return run;
		}),
		pipelines: names.map((name) => {
			const { table, ...spec } = pipelineOf().spec;
			return pipelineOf(
				{ ...spec, table: { ...table, name: "orders" } },
				{ name },
			);
		}),
		sources: [sourceOf()],
		destinations: [destinationOf()],
	};
}

test("the operator's start looks up as many objects as there are, not each for each", async () => {
	const count = 300;
	const client = listedClient(crowd(count));
	const informers = createInformers(client, { namespaces: undefined, log });
	let lookedUp = 0;
	const counted = <T extends object, Name extends keyof T>(
		on: T,
		name: Name,
	) => {
		const lookUp = on[name] as (...args: unknown[]) => unknown[];
		on[name] = ((...args: unknown[]) => {
			const found = lookUp(...args);
			lookedUp += found.length;
			return found;
		}) as T[Name];
	};
	counted(informers.runs, "open");
	counted(informers.pipelines, "intoTable");
	counted(informers.pipelines, "ofDestination");
	const permissions = { onChange: () => undefined };
	const context = {
		...{ informers, client, log, permissions },
	} as unknown as OperatorContext;
	createPipelineController({
		...context,
		sealKey: undefined,
		outbox: new NotificationOutbox({} as NatsConnection, { replicas: 1, log }),
	});
	createRunController({
		...context,
		nats: {} as NatsConnection,
		slots: new JobSlots({ overall: 1, perNamespace: 1 }),
	});
	const stop = new AbortController();
	const running = Object.values(informers).map((each) => each.run(stop.signal));
	await vi.waitUntil(
		() => Object.values(informers).every(({ hasSynced }) => hasSynced),
		{ timeout: 60_000 },
	);
	await new Promise(setImmediate);
	stop.abort();
	await Promise.all(running);
	expect(lookedUp).toBeGreaterThan(count);
	expect(lookedUp).toBeLessThan(count * 20);
});

test("a look at one Run of a crowd looks at each Pipeline once, not for each other Run", async () => {
	const count = 300;
	const crowded = crowd(count);
	const client = Object.assign(listedClient(crowded), {
		get: async (_: unknown, name: string) =>
			crowded.runs.find(({ metadata }) => metadata.name === name),
	});
	const informers = createInformers(client, { namespaces: undefined, log });
	const stop = new AbortController();
	const running = Object.values(informers).map((each) => each.run(stop.signal));
	await Promise.all(Object.values(informers).map(({ synced }) => synced));
	stop.abort();
	await Promise.all(running);
	const lookUp = vi.spyOn(informers.destinations, "get");
	const permissions = { onChange: () => undefined };
	const context = {
		...{ informers, client, log, permissions },
	} as unknown as OperatorContext;
	// A Pipeline whose Run has ended has the table: all other Runs are looked through in vain.
	const owner = informers.pipelines.get("shop", "n0")!;
	owner.metadata.creationTimestamp = "2026-03-02T00:00:00Z";
	const key = { namespace: "shop", name: "n298" };
	const state = await readRun(
		context,
		key,
		{ progress: undefined },
		Date.now(),
	);
	expect(state?.contenders).toEqual([]);
	expect(lookUp.mock.calls.length).toBeGreaterThan(count);
	expect(lookUp.mock.calls.length).toBeLessThan(count * 5);
});
