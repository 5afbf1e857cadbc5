// In make test: ingest/receive/plan/validation-queue.test.ts
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import pino from "pino";
import { expect, test, vi } from "vitest";
import {
	type PlanDocument,
	planKey,
} from "../../../packages/contracts/tracking-plan.ts";
import { compilePlan } from "../../../packages/tracking-plan/compile.ts";
import { cacheOf } from "../../../packages/tracking-plan/program.ts";
import { PlanTable } from "./plan-table.ts";
import { packed } from "./thread-messages.ts";
import { ValidationLoop } from "./validation-worker.ts";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

function heapMegabytes(): number {
	collect();
	return process.memoryUsage().heapUsed / 1024 ** 2;
}

/** A plan that differs from any other, with a document of some kilobytes. */
function orders(update: number): PlanDocument {
	const properties = Object.fromEntries(
		Array.from({ length: 40 }, (_, n) => [
			`property-${n}`,
			{ type: "integer", maximum: update + n },
		]),
	);
	return {
		version: 1,
		account: "shop",
		plan: "orders",
		eventType: { constant: "order" },
		events: [{ type: "order", schema: { properties } }],
		onUnplannedEvent: "Annotate",
		onViolation: "Annotate",
		onUnplannedProperty: "Annotate",
	};
}

function compile(document: PlanDocument) {
	const compiled = compilePlan(document);
	if ("fault" in compiled) throw new Error(compiled.fault);
	return {
		code: packed(compiled.code),
		cache: packed(cacheOf(compiled.code)),
		typeHeader: undefined,
	};
}

const validates = new ValidationLoop(new Int32Array(new SharedArrayBuffer(4)));
const body = Buffer.from('{"property-1":1,"property-2":"x"}');

/** Updates a plan again and again, as operator does it, and has an event validated by each version. */
async function update(table: PlanTable, from: number, to: number) {
	for (let n = from; n < to; n++) {
		const version = `v${n}`;
		const key = (version: string) =>
			planKey("shop", { name: "orders", version });
		table.set(key(version), JSON.stringify(orders(n)));
		table.set(key(`v${n - 1}`), undefined);
		await new Promise((resolve) => setImmediate(resolve));
		const { id } = table.find("shop", { name: "orders", version })!;
		const bytes = new ArrayBuffer(body.length);
		new Uint8Array(bytes).set(body);
		const { verdicts } = validates.validate({
			plans: [id],
			headers: [undefined],
			ends: [body.length],
			bytes,
		});
		expect(verdicts[0]!.kinds).toEqual(["TypeMismatch"]);
	}
}

function tableWith(compilation: (document: string) => object) {
	return new PlanTable({
		compile: async (document) => compilation(document) as never,
		validators: validates,
		after: () => undefined,
		log: pino({ level: "silent" }),
	});
}

test("2,000 updates of a plan, each of which validates, leave no memory behind", async () => {
	const compiled = compile(orders(0));
	const table = tableWith(() => ({ ...compiled, code: compiled.code.slice() }));
	await update(table, 0, 200);
	const before = heapMegabytes();
	await update(table, 200, 2_200);
	// Each version has a document of two kilobytes, and several kilobytes of code.
	expect(heapMegabytes() - before).toBeLessThan(4);
	expect(table.counts).toEqual({ compiled: 1, failed: 0 });
});

test("five hundred accounts find room for a plan of 20 types with 30 properties each", async () => {
	const names = (count: number, name: string) =>
		Array.from({ length: count }, (_, n) => `${name}-${n}`);
	const kinds = [{ type: "string", format: "date-time" }, { type: "integer" }];
	const events = names(20, "type").map((type) => ({
		type,
		schema: {
			properties: Object.fromEntries(
				names(30, type).map((name, n) => [name, kinds[n % 2]!]),
			),
		},
	}));
	const document = { ...orders(0), events };
	const compilation = compile(document);
	const table = tableWith(() => compilation);
	for (const account of names(500, "account"))
		table.set(
			planKey(account, { name: "orders", version: "v" }),
			JSON.stringify(document),
		);
	await vi.waitUntil(() => table.isSettled);
	expect(table.counts).toEqual({ compiled: 500, failed: 0 });
});
