// In make test: test/faults/control-plane/operator-kill.laptop.test.ts
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { type Source, sourceKind } from "../../../crds/generated/types.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import { AheadClock } from "../../support/faults/operator-clock.ts";
import {
	type EverMade,
	OperatorWorld,
	steadyLease,
} from "../../support/fixtures/control-plane/operator-world.ts";
import { outages } from "../../support/fixtures/control-plane/shared-control-plane.ts";
import type { SeenRequest } from "../../support/proxies/apiserver-proxy.ts";
import type { TidemillProcess } from "../../support/servers/tidemill-process.ts";

/* The whole operator while its apiserver is away. */

let world: OperatorWorld;
let settled: string[];
const wait = { timeout: 120_000, interval: 50 };

beforeAll(async () => {
	world = await OperatorWorld.start();
	settled = await world.settledNamespaces(4);
});

afterEach(async () => {
	world.proxy.onAnswer = () => undefined;
	await world.killOperators();
});

afterAll(() => world?.stop());

/** A request of which the apiserver doesn't live to tell that it has carried it out. */
interface LastRequest {
	namespace: string;
	isMeant: (request: SeenRequest) => boolean;
}

/** Kills the apiserver when it has carried out the first request of each that is meant, and before it answers any of these. */
async function dieAfter(...last: LastRequest[]): Promise<void> {
	const { promise: allStored, resolve: die } = Promise.withResolvers<void>();
	const left = new Set(last);
	const dead = allStored.then(() => outages.kill());
	world.proxy.onAnswer = async (request) => {
		for (const each of left)
			if (
				request.path.includes(`/namespaces/${each.namespace}/`) &&
				each.isMeant(request)
			) {
				left.delete(each);
				if (left.size === 0) die();
				await dead;
				throw new Error("the apiserver is gone");
			}
	};
	await dead;
}

/** Starts the apiserver again; operators hear of it when all that they make is seen. */
async function comeBack(...made: EverMade[]): Promise<void> {
	const { promise: isSeen, resolve: goOn } = Promise.withResolvers<void>();
	world.proxy.onRequest = () => isSeen;
	await outages.start();
	world.nodeLooksAgain();
	await Promise.all(made.map((each) => each.requeueAfter()));
	goOn();
	world.proxy.onRequest = () => undefined;
}

const creates = (kind: string) => (request: SeenRequest) =>
	request.method === "POST" && request.path.endsWith(`/${kind}`);

function writesLastStatus() {
	let writes = 0;
	return ({ method, path }: SeenRequest) =>
		method === "PATCH" && /\/runs\/.*\/status$/.test(path) && ++writes > 2;
}

test("an apiserver that dies when it has stored a Run, a Job or the last status of a Run, and is back before the lease runs out: the operator goes on, and does nothing twice", async () => {
	const missed = await Promise.all(
		[creates("runs"), creates("jobs"), writesLastStatus()].map(
			async (isMeant) => {
				const namespace = settled.pop()!;
				const made = await world.everMade(namespace);
				const run = await world.missSlots(namespace);
				return { namespace, made, run, isMeant };
			},
		),
	);
	const dead = dieAfter(...missed);
	const operator = world.startOperator(
		missed.map(({ namespace }) => namespace),
		{ throughProxy: true },
	);
	await dead;
	await comeBack(...missed.map(({ made }) => made));
	for (const { namespace, run } of missed) await world.recorded(namespace, run);
	expect(operator.child.exitCode).toBeNull();
	for (const { made, run } of missed) await made.wasOnly(run);
	operator.child.kill("SIGTERM");
	expect((await operator.ended).exitCode).toBe(0);
});

test("an apiserver that is away for longer than the lease: the operator ends and says why, and one that starts meanwhile goes on where it was", async () => {
	const namespace = settled.pop()!;
	const made = await world.everMade(namespace);
	const run = await world.missSlots(namespace);
	const dead = dieAfter({ namespace, isMeant: creates("jobs") });
	const clock = await AheadClock.make();
	const first = world.startOperator([namespace], {
		throughProxy: true,
		env: { LEASE_DURATION_SECONDS: "15", ...clock.env },
	});
	await dead;
	// Instead of waiting for ten seconds.
	await clock.moveTo(11_000);
	const { exitCode, stdout } = await first.ended;
	expect(exitCode).toBe(1);
	expect(lastWordsOf(stdout)).toBe(
		"lost the lease: it could not be renewed for 10 s. This process ends; after a restart it waits for the apiserver and continues",
	);
	const second = world.startOperator([namespace], {
		throughProxy: true,
		env: { ...steadyLease, LOG_LEVEL: "warn" },
	});
	await says(second, "the lease could not be acquired");
	await comeBack(made);
	// Instead of waiting until it has run out.
	await world.client.delete(kinds.lease, "tidemill-operator", namespace);
	await world.recorded(namespace, run);
	expect(second.child.exitCode).toBeNull();
	await made.wasOnly(run);
});

function lastWordsOf(stdout: string): string {
	return JSON.parse(stdout.trim().split("\n").at(-1)!).msg;
}

async function says(operator: TidemillProcess, words: string): Promise<void> {
	let said = "";
	operator.onLine = (line) => {
		said += line;
	};
	await vi.waitUntil(() => said.includes(words), wait);
}

test("after a compaction of etcd that it missed, the operator lists again and finds the changes", async () => {
	const [namespace = ""] = await world.namespaces(1);
	const source = (name: string) => `
apiVersion: tidemill.dev/v1alpha1
kind: Source
metadata: { name: ${name} }
spec: { type: Webhook }
`;
	const becomesActive = (name: string) =>
		vi.waitFor(async () => {
			const { status } = (await world.client.get<Source>(
				sourceKind,
				name,
				namespace,
			))!;
			expect(status?.phase).toBe("Active");
		}, wait);
	await world.apply(namespace, source("before"));
	const operator = world.startOperator([namespace], { throughProxy: true });
	await becomesActive("before");
	const { promise: healed, resolve: heal } = Promise.withResolvers<void>();
	world.proxy.onRequest = () => healed;
	world.proxy.cut();
	await world.apply(namespace, source("meanwhile"));
	await outages.kill();
	await outages.compact();
	await outages.start();
	const seen = world.proxy.requests.length;
	heal();
	world.proxy.onRequest = () => undefined;
	await becomesActive("meanwhile");
	const lists = world.proxy.requests.slice(seen).filter(
		({ method, path, query, status }) =>
			method === "GET" &&
			path.endsWith("/sources") &&
			!query.has("watch") &&
			// One that has just started may ask to come again.
			status === 200,
	);
	// An apiserver whose cache comes after its first answers may have it begin once more.
	expect(lists).not.toEqual([]);
	expect(operator.child.exitCode).toBeNull();
});
