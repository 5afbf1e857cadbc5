import { expect, test, vi } from "vitest";
import type { KubeObject, ObjectKey } from "../../packages/kube/resource.ts";
import type { Informer } from "../../packages/kube/watch/informer.ts";
import { createLog } from "../../packages/service/log.ts";
import type { OperatorContext } from "./context.ts";
import {
	createResourceLoop,
	type LookContext,
	type ResourceController,
} from "./resource-loop.ts";

const key: ObjectKey = { namespace: "shop", name: "orders" };
const log = createLog("test");
log.level = "silent";

interface Requested {
	asked?: string;
	sent?: string;
}
type Action = { type: "ask" } | { type: "send" } | { type: "end" };

/** Runs a loop on one object until it has decided "end". Returns what each look saw, and what was done. */
async function run(
	decide: (outcome: Requested, done: string[]) => Action[],
	apply: (type: string) => Requested | undefined,
) {
	const looks: (LookContext<Requested> & { decidedAt: number })[] = [];
	const done: string[] = [];
	const object: KubeObject = { metadata: { ...key } };
	const ended = Promise.withResolvers<void>();
	const controller: ResourceController<
		KubeObject,
		{ look: LookContext<Requested> },
		Action,
		Requested
	> = {
		name: "test",
		known: { get: () => object } as unknown as Informer<KubeObject>,
		verb: "Try",
		read: async (_, look) => ({ look }),
		decide({ look }, now) {
			looks.push({ ...look, decidedAt: now });
			return decide(look.outcome ?? {}, done);
		},
		objectIn: () => object,
		async apply({ type }) {
			done.push(type);
			if (type === "end") ended.resolve();
			const outcome = apply(type);
			return outcome ? { outcome } : object;
		},
	};
	const stop = new AbortController();
	const loop = createResourceLoop(
		{ log } as unknown as OperatorContext,
		controller,
	);
	const running = loop.run(stop.signal);
	loop.enqueue(key);
	await ended.promise;
	stop.abort();
	await running;
	return { looks, done };
}

test("what a request came to is state of the next reconcile, and what was decided after the request is left to that", async () => {
	const { looks, done } = await run(
		({ asked, sent }) =>
			!asked
				? [{ type: "ask" }, { type: "end" }]
				: !sent
					? [{ type: "send" }, { type: "end" }]
					: [{ type: "end" }],
		(type) =>
			({ ask: { asked: "yes" }, send: { sent: "all" } })[
				type as "ask" | "send"
			],
	);
	expect(done).toEqual(["ask", "send", "end"]);
	expect(looks.map(({ outcome }) => outcome)).toEqual([
		undefined,
		{ asked: "yes" },
		{ asked: "yes", sent: "all" },
	]);
});

test("a reconcile that breaks off forgets what requests came to: they are made again", async () => {
	let failures = 0;
	const { done } = await run(
		({ asked }) => [{ type: asked ? "send" : "ask" }, { type: "end" }],
		(type) => {
			if (type === "ask") return { asked: "yes" };
			if (type === "send" && failures++ === 0) throw new Error("no");
			return undefined;
		},
	);
	expect(done).toEqual(["ask", "send", "ask", "send", "end"]);
});

test("a reconcile reads and decides at one time", async () => {
	vi.useFakeTimers({ toFake: ["Date"], now: 1_000 });
	const { looks } = await run(
		() => [{ type: "end" }],
		() => undefined,
	);
	vi.useRealTimers();
	expect(looks).toMatchObject([{ now: 1_000, decidedAt: 1_000 }]);
});
