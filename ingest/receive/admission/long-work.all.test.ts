// In make test: ingest/receive/admission/admission.test.ts
import { beforeEach, expect, test } from "vitest";
import { jsonText } from "../body/request-body.ts";
import { signedBySecret } from "../request/signature-check.ts";
import { twilioSignature } from "../request/signature-schemes.ts";
import {
	bytesPerTurn,
	type LongWork,
	LongWorkQueue,
	stepBytes,
} from "./long-work.ts";

let deferred: (() => void)[];
let sharing: LongWorkQueue;

beforeEach(() => {
	deferred = [];
	sharing = new LongWorkQueue((run) => deferred.push(run));
});

/** One turn of the event loop. */
function turn(): void {
	for (const run of deferred.splice(0)) run();
}

/** Counts what each turn visits, until all is done. */
function turns(visited: () => number): number[] {
	const counts: number[] = [];
	for (let before = 0; deferred.length > 0; before = visited()) {
		turn();
		counts.push(visited() - before);
	}
	return counts;
}

/** Counts what steps visit. */
function counted<T>(steps: LongWork<T>): {
	steps: LongWork<T>;
	visited: number;
} {
	const count = { visited: 0, steps: counting() };
	function* counting(): LongWork<T> {
		for (;;) {
			const { done, value } = steps.next();
			if (done) return value;
			count.visited += value;
			yield value;
		}
	}
	return count;
}

const fourMegabytes = 4 * 1024 * 1024;
const filled = (unit: string) =>
	Buffer.from(unit.repeat(fourMegabytes / Buffer.byteLength(unit)));

// JSON that isn't valid is read again, to say where.
test.each<[string, "json" | "form", Buffer, number]>([
	["brackets", "json", filled("["), 2],
	["nested objects", "json", filled('{"":'), 2],
	["small objects", "json", filled("{},"), 2],
	["a string", "json", Buffer.from(`"${"x".repeat(fourMegabytes)}"`), 1],
	["escapes", "json", Buffer.from(`"${"\\u0000".repeat(700_000)}"`), 1],
	["a number", "json", filled("1"), 1],
	["white space", "json", filled(" "), 2],
	["names without a value", "form", filled("a&"), 3],
	["empty fields", "form", filled("&"), 3],
	["one name", "form", filled("a"), 3],
	["percent signs", "form", filled("%"), 3],
	["control characters", "form", Buffer.from(`a=${"%01".repeat(400_000)}`), 3],
	["long names of one length", "form", longNames(), 3],
])(
	"4 MiB of %s take linear work, in slices that leave the event loop its turns",
	async (_, kind, body, perByte) => {
		const count = counted(jsonText(kind, [body], () => true));
		const result = sharing.run("shop", count.steps);
		const slices = turns(() => count.visited);
		// What isn't refused half-way is visited whole.
		if (!("status" in (await result)))
			expect(count.visited).toBeGreaterThanOrEqual(body.length);
		expect(Math.max(...slices)).toBeLessThan(bytesPerTurn + stepBytes + 3);
		expect(count.visited).toBeLessThanOrEqual(perByte * body.length);
	},
);

test("a signed text that repeats the body takes as many slices, with each key", async () => {
	const body = Buffer.alloc(fourMegabytes / 4);
	const signed = Array.from({ length: 11 }, () => Buffer.alloc(0));
	const presented = { hash: "sha512", encoding: "hex", signed } as const;
	const keys = Array.from({ length: 2 }, () => ({
		algorithm: "HMAC" as const,
		key: Buffer.from("hush"),
	}));
	const count = counted(
		signedBySecret({ ...presented, texts: [] }, keys, [body]),
	);
	const result = sharing.run("shop", count.steps);
	const slices = turns(() => count.visited);
	expect(await result).toBeUndefined();
	expect(Math.max(...slices)).toBeLessThan(bytesPerTurn + stepBytes);
	expect(count.visited).toBe(2 * 10 * body.length);
});

test("a digest of the body, which Twilio signs, takes as many slices", async () => {
	const body = Buffer.alloc(fourMegabytes);
	const address = { sourceKey: "a", urlKey: "b", query: "bodySHA256=00" };
	const presented = twilioSignature(
		{ "x-twilio-signature": "none" },
		address,
		"https://hooks.example.com",
	)!;
	const count = counted(signedBySecret(presented, [], [body]));
	const result = sharing.run("shop", count.steps);
	const slices = turns(() => count.visited);
	expect(await result).toBeUndefined();
	expect(Math.max(...slices)).toBeLessThan(bytesPerTurn + stepBytes);
	expect(count.visited).toBe(body.length);
});

/** They differ at their end only. */
function longNames(): Buffer {
	const names = Array.from(
		{ length: 200 },
		(_, n) => "n".repeat(20_000) + String(n).padStart(3, "0"),
	);
	return Buffer.from(names.join("&"));
}

test("an account's long work doesn't wait for another account's queue", async () => {
	const done: string[] = [];
	const work = (account: string, bytes: number) =>
		sharing
			.run(
				account,
				jsonText("json", [Buffer.alloc(bytes, " ")], () => true),
			)
			.then((result) => {
				expect(result).toMatchObject({ code: "InvalidJSON" });
				done.push(account);
			});
	const all = [
		...Array.from({ length: 20 }, () => work("mallory", fourMegabytes)),
		work("bank", bytesPerTurn / 2),
	];
	for (let n = 0; n < 4; n++) turn();
	await new Promise(setImmediate);
	expect(done).toEqual(["bank"]);
	while (deferred.length > 0) turn();
	await Promise.all(all);
	expect(done).toHaveLength(21);
});

test("work that fails ends alone", async () => {
	function* failing(): LongWork<never> {
		yield 1;
		throw new Error("broken");
	}
	function* working(): LongWork<string> {
		yield 1;
		return "done";
	}
	const failed = sharing.run("shop", failing());
	const worked = sharing.run("shop", working());
	while (deferred.length > 0) turn();
	await expect(failed).rejects.toThrow("broken");
	expect(await worked).toBe("done");
});
