import { pino } from "pino";
import { expect, test } from "vitest";
import type { Session } from "../../duckdb/session.ts";
import { carryOut } from "./transaction.ts";

test("a load is planned inside the transaction that carries it out, so that a load that slept sees what came meanwhile", async () => {
	let isInside = false;
	const session = {
		transaction: async (work: () => Promise<void>) => {
			isInside = true;
			await work();
			isInside = false;
		},
	} as Session;
	const planned: boolean[] = [];
	await carryOut(
		async () => {
			planned.push(isInside);
			return { table: "events", steps: [] } as never;
		},
		session,
		pino({ level: "silent" }),
	);
	expect(planned).toEqual([true]);
});
