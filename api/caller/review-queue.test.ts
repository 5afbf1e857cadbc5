import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { ReviewQueue } from "./review-queue.ts";

const unavailable = { code: "Unavailable", headers: { "retry-after": "2" } };
const never = new AbortController().signal;

/** A queue whose reviews the test ends. Each review is named by its network and number, such as "a1". */
function queueOf(
	limits: Partial<ConstructorParameters<typeof ReviewQueue>[0]>,
) {
	const queue = new ReviewQueue({
		maxRunning: 1,
		maxWaiting: 10,
		maxWaitMs: 600_000,
		...limits,
	});
	const begun: string[] = [];
	const running: (() => void)[] = [];
	const ask = (name: string, gone = never) => {
		const answer = queue.run(name[0]!, gone, () => {
			begun.push(name);
			return new Promise<string>((resolve) =>
				running.push(() => resolve(name)),
			);
		});
		answer.catch(() => undefined);
		return answer;
	};
	const endAll = async () => {
		while (running.length > 0) {
			running.shift()!();
			await nextTurn();
		}
	};
	return { ask, begun, running, endAll };
}

test("networks take turns, and each network's requests keep their order", async () => {
	const { ask, begun, endAll } = queueOf({});
	const answers = ["a1", "a2", "a3", "b1", "c1", "b2"].map((name) => ask(name));
	await endAll();
	expect(begun).toEqual(["a1", "a2", "b1", "c1", "a3", "b2"]);
	expect(await Promise.all(answers)).toEqual([
		...["a1", "a2", "a3", "b1", "c1", "b2"],
	]);
});

test("so many reviews run at once and no more, and a failed one frees its place", async () => {
	const queue = new ReviewQueue({
		maxRunning: 3,
		maxWaiting: 100,
		maxWaitMs: 600_000,
	});
	let [running, most] = [0, 0];
	const answers = Array.from({ length: 50 }, (_, number) =>
		queue.run("a", never, async () => {
			most = Math.max(most, ++running);
			await nextTurn();
			running--;
			if (number % 2) throw new Error("refused");
		}),
	);
	const settled = await Promise.allSettled(answers);
	expect(most).toBe(3);
	expect(settled.filter(({ status }) => status === "rejected")).toHaveLength(
		25,
	);
	await queue.run("a", never, async () => undefined);
});

test("a full queue refuses the network that fills it and still takes another's requests", async () => {
	const { ask, begun, endAll } = queueOf({ maxWaiting: 4 });
	const first = ask("a0");
	const flood = ["a1", "a2", "a3", "a4"].map((name) => ask(name));
	await expect(ask("a5")).rejects.toMatchObject(unavailable);
	const others = [ask("b1"), ask("c1")];
	await expect(flood[3]).rejects.toMatchObject(unavailable);
	await expect(flood[2]).rejects.toMatchObject(unavailable);
	await expect(ask("b2")).rejects.toMatchObject(unavailable);
	await endAll();
	await Promise.all([first, flood[0], flood[1], ...others]);
	expect(begun.toSorted()).toEqual(["a0", "a1", "a2", "b1", "c1"]);
});

test("a client that has disconnected holds no place", async () => {
	const { ask, begun, endAll } = queueOf({ maxWaiting: 1 });
	const first = ask("a1");
	const gone = new AbortController();
	const left = ask("a2", gone.signal);
	gone.abort();
	const next = ask("a3");
	await expect(left).rejects.toMatchObject(unavailable);
	await expect(ask("a4", gone.signal)).rejects.toMatchObject(unavailable);
	await endAll();
	await Promise.all([first, next]);
	expect(begun).toEqual(["a1", "a3"]);
});

test("a request that waits too long is refused and holds no place", async () => {
	const { ask, begun, running, endAll } = queueOf({ maxWaitMs: 1 });
	const first = ask("a1");
	await expect(ask("a2")).rejects.toMatchObject(unavailable);
	expect(running).toHaveLength(1);
	await endAll();
	expect(await first).toBe("a1");
	expect(begun).toEqual(["a1"]);
});
