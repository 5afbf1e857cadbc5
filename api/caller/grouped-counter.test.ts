import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { expect, test } from "vitest";
import { GroupedCounter } from "./grouped-counter.ts";

test("what comes at once is counted by one question, and each has its own count", async () => {
	const { grouped, questions } = counter();
	const counts = Promise.all([
		grouped.add(1, "a"),
		grouped.add(1, "a"),
		grouped.add(1, "b"),
		grouped.add(1, "a"),
		grouped.add(2, "a"),
	]);
	await asked(questions, 3);
	questions[0]!.answer(10);
	questions[1]!.answer(1);
	questions[2]!.answer(7);
	expect(await counts).toEqual([8, 9, 1, 10, 7]);
	expect(questions.map(({ question }) => question)).toEqual([
		[1, "a", 3],
		[1, "b", 1],
		[2, "a", 1],
	]);
});

test("what comes while a question is under way is counted by the next one", async () => {
	const { grouped, questions } = counter();
	const first = grouped.add(1, "a");
	await asked(questions, 1);
	const later = [grouped.add(1, "a"), grouped.add(1, "a")];
	await turnOfTheLoop();
	expect(questions).toHaveLength(1);
	questions[0]!.answer(5);
	expect(await first).toBe(5);
	await asked(questions, 2);
	expect(questions[1]!.question).toEqual([1, "a", 2]);
	questions[1]!.answer(9);
	expect(await Promise.all(later)).toEqual([8, 9]);
});

test("what is counted ahead needs no question", async () => {
	const { grouped, questions } = counter(2);
	const counts = Promise.all([grouped.add(1, "a"), grouped.add(1, "a")]);
	await asked(questions, 1);
	const late = grouped.add(1, "a");
	questions[0]!.answer(104);
	expect([...(await counts), await late]).toEqual([101, 102, 103]);
	expect(await grouped.add(1, "a")).toBe(104);
	expect(questions.map(({ question }) => question)).toEqual([[1, "a", 4]]);
	void grouped.add(1, "a");
	void grouped.add(1, "b");
	void grouped.add(2, "a");
	await asked(questions, 4);
});

test("a question that fails fails for all who wait, and the next one is asked anew", async () => {
	const { grouped, questions } = counter();
	const lost = [grouped.add(1, "a"), grouped.add(1, "a")];
	await asked(questions, 1);
	lost.push(grouped.add(1, "a"));
	questions[0]!.fail(new Error("away"));
	for (const one of await Promise.allSettled(lost))
		expect(one.status).toBe("rejected");
	const next = grouped.add(1, "a");
	await asked(questions, 2);
	expect(questions[1]!.question).toEqual([1, "a", 1]);
	questions[1]!.answer(3);
	expect(await next).toBe(3);
});

/** A counter that answers when it is told to. */
function counter(ahead = 0) {
	const questions: {
		question: [window: number, subject: string, requests: number];
		answer: (count: number) => void;
		fail: (error: Error) => void;
	}[] = [];
	const grouped = new GroupedCounter(
		{
			add: (...question) =>
				new Promise((answer, fail) => {
					questions.push({ question, answer, fail });
				}),
		},
		ahead,
	);
	return { grouped, questions };
}

/** So many questions were asked, after a few turns of the event loop. */
async function asked(questions: unknown[], number: number): Promise<void> {
	for (let turn = 0; turn < 5; turn++) await turnOfTheLoop();
	expect(questions).toHaveLength(number);
}
