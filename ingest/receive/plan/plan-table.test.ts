import pino from "pino";
import { beforeEach, expect, test } from "vitest";
import { planKey } from "../../../packages/contracts/tracking-plan.ts";
import { PlanTable } from "./plan-table.ts";
import type { CompileAnswer, LearnedPlan } from "./thread-messages.ts";

interface Compiling {
	document: string;
	answer(answer: CompileAnswer): Promise<void>;
	fail(): Promise<void>;
}

let compiling: Compiling[];
let learned: Map<number, LearnedPlan>;
let later: { delayMs: number; run: () => void }[];
let table: PlanTable;

beforeEach(() => {
	compiling = [];
	learned = new Map();
	later = [];
	table = new PlanTable({
		compile: (document) => {
			const { promise, resolve, reject } =
				Promise.withResolvers<CompileAnswer>();
			const settled = () =>
				new Promise<void>((resolve) => setImmediate(resolve));
			compiling.push({
				document,
				answer: (answer) => {
					resolve(answer);
					return settled();
				},
				fail: () => {
					reject(new Error("killed"));
					return settled();
				},
			});
			return promise;
		},
		validators: {
			learn: (plan) => learned.set(plan.id, plan),
			forget: (id) => learned.delete(id),
		},
		after: (delayMs, run) => later.push({ delayMs, run }),
		log: pino({ level: "silent" }),
	});
});

const code = (bytes = 4) => new Uint8Array(new SharedArrayBuffer(bytes));
const compiled = (bytes?: number): CompileAnswer => ({
	code: code(bytes),
	cache: code(),
	typeHeader: undefined,
});
const key = (version: string, account = "shop", name = "orders") =>
	planKey(account, { name, version });
const put = (version: string, account?: string, name?: string) =>
	table.set(key(version, account, name), version);
const remove = (version: string, account?: string) =>
	table.set(key(version, account), undefined);

/** The document that validates an event of a route that names this version. */
function validating(version?: string, account = "shop"): string | undefined {
	const found = table.find(account, {
		name: "orders",
		...(version !== undefined && { version }),
	});
	return found && learned.get(found.id)?.document;
}

test("a plan validates once it is compiled; a route without a version has none", async () => {
	put("v1");
	expect(validating("v1")).toBeUndefined();
	expect(table.isSettled).toBe(false);
	await compiling[0]!.answer(compiled());
	expect(validating("v1")).toBe("v1");
	expect(validating("v1", "bank")).toBeUndefined();
	expect(validating()).toBeUndefined();
	expect(table.isSettled).toBe(true);
	expect(table.counts).toEqual({ compiled: 1, failed: 0 });
});

test("the old version validates until the new one is compiled, even if operator has removed it; then it is forgotten", async () => {
	put("v1");
	await compiling[0]!.answer(compiled());
	put("v2");
	expect(validating("v2")).toBe("v1");
	remove("v1");
	expect(validating("v2")).toBe("v1");
	await compiling[1]!.answer(compiled());
	expect(validating("v2")).toBe("v2");
	expect([...learned.values()].map(({ document }) => document)).toEqual(["v2"]);
});

test("Sources whose routes name different versions of a plan have each their own", async () => {
	put("v1");
	put("v2");
	await compiling[0]!.answer(compiled());
	await compiling[1]!.answer(compiled());
	expect(validating("v1")).toBe("v1");
	expect(validating("v2")).toBe("v2");
	// The edit is taken back.
	remove("v2");
	expect(validating("v1")).toBe("v1");
	expect(learned.size).toBe(1);
});

test("a removed plan is forgotten, also while it is compiled, and may come back", async () => {
	put("v1");
	remove("v1");
	await compiling[0]!.answer(compiled());
	expect(learned.size).toBe(0);
	put("v1");
	await compiling[1]!.answer(compiled());
	expect(validating("v1")).toBe("v1");
	table.replace(new Map());
	expect(learned.size).toBe(0);
	expect(validating("v1")).toBeUndefined();
});

test("a new reading of the bucket compiles only what is new, and forgets what is gone", async () => {
	put("v1");
	put("w1", "bank");
	await compiling[0]!.answer(compiled());
	await compiling[1]!.answer(compiled());
	table.replace(
		new Map([
			[key("v1"), "v1"],
			[key("x1", "zoo"), "x1"],
		]),
	);
	expect(compiling).toHaveLength(3);
	expect(compiling[2]!.document).toBe("x1");
	expect(validating("w1", "bank")).toBeUndefined();
	expect(validating("v1")).toBe("v1");
});

test("accounts take turns, so one with many plans keeps another's waiting for one of them", async () => {
	for (let n = 0; n < 20; n++) put(`v${n}`, "mallory", `p${n}`);
	put("w1", "bank");
	await compiling[0]!.answer(compiled());
	await compiling[1]!.answer(compiled());
	expect(compiling.slice(0, 3).map(({ document }) => document)).toContain("w1");
});

test("of a plan that is edited again and again, only versions that are still there are compiled", async () => {
	for (let n = 0; n < 20; n++) {
		put(`v${n}`);
		if (n > 0) remove(`v${n - 1}`);
	}
	await compiling[0]!.answer(compiled());
	await compiling[1]!.answer(compiled());
	expect(compiling.map(({ document }) => document)).toEqual(["v0", "v19"]);
	expect(validating("v19")).toBe("v19");
	expect(learned.size).toBe(1);
});

test("a plan that can't be compiled leaves the old one validating, and is tried again, ever more rarely", async () => {
	put("v1");
	await compiling[0]!.answer(compiled());
	put("v2");
	await compiling[1]!.fail();
	expect(validating("v2")).toBe("v1");
	expect(table.isSettled).toBe(true);
	expect(table.counts).toEqual({ compiled: 1, failed: 1 });
	later[0]!.run();
	await compiling[2]!.answer({ fault: "spec.common is wrong" });
	expect(later[1]!.delayMs).toBeGreaterThan(later[0]!.delayMs);
	later[1]!.run();
	await compiling[3]!.answer(compiled());
	expect(validating("v2")).toBe("v2");
	// One that was removed meanwhile isn't.
	put("v3");
	await compiling[4]!.fail();
	remove("v3");
	later[2]!.run();
	expect(compiling).toHaveLength(5);
});

test("an account's plans take a third of the memory at most, and another's still find room", async () => {
	const part = 19 * 1024 * 1024;
	for (let n = 0; n < 6; n++) put("v1", "mallory", `p${n}`);
	for (let n = 0; n < 6; n++) await compiling[n]!.answer(compiled(part));
	expect(learned.size).toBe(2);
	put("w1", "bank");
	await compiling[6]!.answer(compiled(part));
	expect(validating("w1", "bank")).toBe("w1");
	// What is removed makes room.
	for (let n = 0; n < 6; n++)
		table.set(key("v1", "mallory", `p${n}`), undefined);
	expect(learned.size).toBe(1);
	put("v2", "mallory", "p0");
	await compiling[7]!.answer(compiled(part));
	expect(learned.size).toBe(2);
});
