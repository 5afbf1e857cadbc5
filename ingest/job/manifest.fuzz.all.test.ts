// In make test: ingest/job/manifest.test.ts
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";
import { corpusOf, fuzzSettings } from "../../test/support/fuzz/corpus.ts";
import { mutated, mutatedJSON } from "../../test/support/fuzz/mutation.ts";
import { randomOf } from "../../test/support/seeded-random.ts";
import { planDays } from "../load/load-days.ts";
import { checkedManifest, parseManifest } from "./manifest.ts";

const { runs, seed } = fuzzSettings(1_500);
const run = "0b8f7a52-4a38-4f0e-9d21-6d1f1e6f2c11";

test("a document of any kind is a manifest whose files stay in their folder, or a JobFailure without a link", async () => {
	const random = randomOf(seed);
	const seeds = corpusOf("manifest");
	for (const text of seeds) await check(text);
	const documents = seeds.flatMap(parsed);
	let accepted = 0;
	for (let round = 0; round < runs; round++) {
		const document = documents[Math.floor(random() * documents.length)];
		const text = JSON.stringify(mutatedJSON(document, random)) ?? "";
		if (await check(Buffer.from(text))) accepted++;
		await check(mutated(Buffer.from(text), random));
	}
	expect(accepted).toBeGreaterThan(runs / 100);
});

function parsed(text: Buffer): unknown[] {
	try {
		return [JSON.parse(text.toString())];
	} catch {
		return [];
	}
}

/** Whether the text is a manifest. */
async function check(text: Uint8Array): Promise<boolean> {
	try {
		const parsed = await parseManifest(Readable.from([text]));
		const manifest = checkedManifest(parsed, run);
		for (const { objects } of planDays(manifest.dates, "/scratch"))
			for (const { file, url, key, rows, bytes } of objects) {
				expect(dirname(file)).toBe("/scratch");
				expect([typeof url, typeof key]).toEqual(["string", "string"]);
				expect(rows + bytes).toBeGreaterThanOrEqual(0);
			}
		return true;
	} catch (error) {
		if (!(error instanceof JobFailure))
			throw new Error(`not a JobFailure for ${Buffer.from(text)}`, {
				cause: error,
			});
		expect(error.message).not.toContain("X-Amz-Signature");
		expect(error.message.length).toBeLessThan(500);
		return false;
	}
}
