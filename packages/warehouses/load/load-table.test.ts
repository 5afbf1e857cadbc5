import { expect, test } from "vitest";
import { loadTable, type TableLoad } from "./load-table.ts";

type Step = Exclude<keyof TableLoad<object>, "locked" | "isAtOnce">;

/** The steps that a load takes, until one of them fails. */
async function stepsOf(isAtOnce: boolean, failing?: Step) {
	const taken: string[] = [];
	let isLocked = false;
	const step = (name: Step) => async () => {
		taken.push(`${name}${isLocked ? ", locked" : ""}`);
		if (name === failing) throw new Error(`${name} failed`);
		return { words: "the view says more" } as never;
	};
	const load: TableLoad<{ words: string }> = {
		locked: async (work) => {
			isLocked = true;
			try {
				return await work();
			} finally {
				isLocked = false;
			}
		},
		isAtOnce: () => isAtOnce,
		plan: step("plan"),
		prepare: step("prepare"),
		stage: step("stage"),
		publish: step("publish"),
		finish: step("finish"),
		clear: step("clear"),
		count: step("count"),
	};
	const warned: unknown[] = [];
	const warn = (_: unknown, words: unknown) => warned.push(words);
	const failure = await loadTable(load, "events", { warn } as never).then(
		() => undefined,
		(error: Error) => error.message,
	);
	return { taken, warned, failure };
}

test("a load decides and prepares the table under its lock, then stages and publishes rows, and says last what the table holds", async () => {
	expect(await stepsOf(false)).toEqual({
		taken: [
			"plan, locked",
			"prepare, locked",
			"stage",
			"publish",
			"finish",
			"clear",
			"count",
		],
		warned: ["the view says more"],
		failure: undefined,
	});
});

test("a load that changes all at once does all of it under the lock, and counts afterwards", async () => {
	const { taken } = await stepsOf(true);
	expect(taken.filter((step) => !step.includes("locked"))).toEqual(["count"]);
	expect(taken).toHaveLength(7);
});

test("a load that is refused changes nothing, and one that fails takes away what is its own and says nothing of the table", async () => {
	expect(await stepsOf(true, "plan")).toEqual({
		taken: ["plan, locked"],
		warned: [],
		failure: "plan failed",
	});
	expect(await stepsOf(false, "publish")).toEqual({
		taken: ["plan, locked", "prepare, locked", "stage", "publish", "clear"],
		warned: [],
		failure: "publish failed",
	});
});
