// In make test: ingest/job/manifest.test.ts
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { randomOf } from "../../test/support/seeded-random.ts";
import { manifestText, readManifestText } from "./manifest-text.ts";

interface Text {
	dates: unknown[];
	[name: string]: unknown;
}

/** What is read of a text that arrives in pieces of so many bytes. */
async function read(text: string, pieceBytes = 7): Promise<Text> {
	const bytes = Buffer.from(text);
	const pieces: Buffer[] = [];
	for (let at = 0; at < bytes.length; at += pieceBytes)
		pieces.push(bytes.subarray(at, at + pieceBytes));
	const days = readManifestText<Text>(Readable.from(pieces));
	const dates: unknown[] = [];
	for (;;) {
		const { done, value } = await days.next();
		if (!done) dates.push(value);
		else return Array.isArray(value?.dates) ? { ...value, dates } : value;
	}
}

const odd = [
	{ date: "2026-03-01", note: 'a "quoted, [text]" \\', url: "ü€😀" },
	{ objects: [[], {}, [{ dates: [1, 2] }]], dates: ["x"] },
	[],
	null,
	7,
	"dates",
];
const documents: unknown[] = [
	{ version: 1, dates: odd },
	{ dates: odd, version: 1, asked: { dates: [1] }, last: "dates" },
	{ version: 1, dates: [] },
	{ a: "dates", b: [{ dates: [1] }], dates: [{}] },
	{ '"dates"': [1], "da\\tes": [2], dates: [3] },
	{ version: 1 },
	{ dates: 7 },
	[],
	[[1], { dates: [2] }],
	null,
	"dates",
];

test.each(documents.map((document) => [document]))(
	"what is read of %j is what JSON says, in whatever pieces it arrives",
	async (document) => {
		for (const text of [
			JSON.stringify(document),
			JSON.stringify(document, null, "\t\r\n "),
		])
			for (let bytes = 1; bytes < 20; bytes++)
				expect(await read(text, bytes)).toEqual(document);
	},
);

test("what is written is read, and is one JSON document", async () => {
	const rest = { version: 1, note: 'dates":[', dates: ["not these"] };
	for (const days of [odd, [], [1]]) {
		const pieces = await Array.fromAsync(manifestText(rest, days));
		const whole = { ...rest, dates: days };
		expect(JSON.parse(pieces.join(""))).toEqual(whole);
		expect(await read(pieces.join(""))).toEqual(whole);
	}
	const pieces = await Array.fromAsync(manifestText({}, [1]));
	expect(JSON.parse(pieces.join(""))).toEqual({ dates: [1] });
});

test("what isn't JSON isn't read as something else", async () => {
	const random = randomOf(7);
	const text = JSON.stringify({ version: 1, dates: odd, last: { a: [1] } });
	for (let round = 0; round < 2_000; round++) {
		const from = Math.floor(random() * text.length);
		const to = from + Math.floor(random() * 5);
		// Half of a character becomes a whole one.
		const broken = Buffer.from(text.slice(0, from) + text.slice(to)).toString();
		let expected: Text | undefined;
		try {
			expected = JSON.parse(broken);
		} catch {
			expected = undefined;
		}
		const found = await read(broken, 16).catch((error) => {
			expect(error).toBeInstanceOf(SyntaxError);
			return undefined;
		});
		expect(found).toEqual(expected);
	}
});

test("a manifest that V8 has no text for is read and written in the memory of one date", async () => {
	const day = { date: "2026-03-01", url: "x".repeat(2_000_000) };
	const [rest, count] = [{ version: 1 }, 300];
	const days = function* () {
		for (let number = 0; number < count; number++) yield { ...day, number };
	};
	let bytes = 0;
	const chunks = async function* () {
		for await (const piece of manifestText(rest, days())) {
			const chunk = Buffer.from(piece);
			bytes += chunk.length;
			yield chunk;
		}
	};
	let found = 0;
	for await (const { number } of readManifestText<{
		dates: { number: number }[];
	}>(chunks()))
		expect(number).toBe(found++);
	expect(found).toBe(count);
	// V8's longest text has 2²⁹ − 24 characters.
	expect(bytes).toBeGreaterThan(2 ** 29);
});
