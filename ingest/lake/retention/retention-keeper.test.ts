import { pino } from "pino";
import { expect, test } from "vitest";
import { startScriptedStore } from "../../../test/support/fixtures/data-plane/scripted-store.ts";
import type { ArchiveMetrics } from "../../archive/write/archive-metrics.ts";
import { RetentionKeeper } from "./retention-keeper.ts";

/** Says who enforces 400 days, and what is in the way of so many days, with a store that refuses to tell its lifecycle rules. */
async function refused(status: number, code: string) {
	const store = await startScriptedStore((_, response) => {
		response.statusCode = status;
		response.setHeader("content-type", "application/xml");
		response.end(`<Error><Code>${code}</Code></Error>`);
	});
	const keeper = new RetentionKeeper({
		store,
		metrics: {} as ArchiveMetrics,
		log: pino({ level: "silent" }),
	});
	const record = {
		version: 1,
		account: "shop",
		sourceKey: "k",
		days: 400,
		from: "2026-01-01",
	} as const;
	return keeper.setRules([{ record, number: 1, modifiedMs: 0 }]);
}

test("rules that archive may not read are in the way of every longer retention, since one may delete", async () => {
	const { enforcedBy, problemOf } = await refused(403, "AccessDenied");
	expect(enforcedBy).toBe("sweep");
	expect(problemOf(30)).toBeUndefined();
	for (const [days, end] of [
		[400, " before 400 days are over."],
		[0, "."],
	] as const)
		expect(problemOf(days)?.message).toBe(
			`Archive may not read the bucket's lifecycle rules, and one may remove or archive events${end} Allow archive's credentials s3:GetLifecycleConfiguration and s3:PutLifecycleConfiguration.`,
		);
});

test.each([
	[405, "MethodNotAllowed"],
	[501, "NotImplemented"],
])("a store that answers %d has no rules", async (status, code) => {
	const { enforcedBy, problemOf } = await refused(status, code);
	expect(enforcedBy).toBe("sweep");
	expect(problemOf(400)).toBeUndefined();
});
