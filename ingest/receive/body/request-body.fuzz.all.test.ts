// In make test: ingest/receive/body/request-body.test.ts
import { isUtf8 } from "node:buffer";
import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
	stored,
	storedText,
} from "../../../test/support/bodies/stored-text.ts";
import { doNow } from "../admission/long-work.ts";
import { decompress } from "../request/content-encoding.ts";
import { formToJSON, urlencodedFields } from "../text/form.ts";
import { faultOf, JSONScanner } from "../text/json.ts";

/*
 * Compares receive's readers of JSON and forms with independent ones: a byte-by-byte recognizer of RFC 8259's grammar, and
 * the steps of the URL standard's parser. `FUZZ_RUNS` makes it longer, `FUZZ_SEED` takes other bodies. The corpus comes
 * first: add each body that was ever read wrong, as a file of its bytes.
 */
const numRuns = Number(process.env.FUZZ_RUNS ?? 500);
const seed = Number(process.env.FUZZ_SEED ?? 17);

const corpus = new URL("../../../test/support/corpus/", import.meta.url);

/** The examples of a folder of the corpus, as fast-check takes them: lists of arguments. */
function examples(folder: string): [Buffer][] {
	const url = new URL(`${folder}/`, corpus);
	return readdirSync(url).map((name) => [readFileSync(new URL(name, url))]);
}

const startsWithMark = (body: Buffer) =>
	body.toString("latin1", 0, 3) === "\xef\xbb\xbf";

test("a body is accepted as JSON exactly if the grammar allows it, and stored as sent", () => {
	const seen = { valid: 0, invalid: 0 };
	fc.assert(
		fc.property(jsonLike, (body) => {
			const result = stored("json", body);
			const text = body.subarray(startsWithMark(body) ? 3 : 0);
			const isValid = isJSON(text);
			seen[isValid ? "valid" : "invalid"]++;
			if (isValid) expect(result).toEqual([text]);
			else expect(result).toHaveProperty("status", 400);
		}),
		{ numRuns, seed, examples: examples("json") },
	);
	// Otherwise the texts are too wild, or too tame, to prove anything.
	expect(Math.min(seen.valid, seen.invalid)).toBeGreaterThan(numRuns / 10);
});

test("a form becomes the JSON object of the URL standard's pairs, unless it begins as JSON or XML or isn't UTF-8", () => {
	fc.assert(
		fc.property(fc.oneof(formLike, jsonLike), (body) => {
			fc.pre(body.length > 0);
			const text = body.subarray(startsWithMark(body) ? 3 : 0);
			const result = stored("form", body);
			if (!/^[ \t\r\n]*[[{"<]/.test(text.toString("latin1"))) {
				const json = formAsJSON(body);
				if (json === undefined) expect(result).toHaveProperty("status", 415);
				else expect(storedText("form", body)).toBe(json);
			} else if (isJSON(text)) expect(result).toEqual([text]);
			else expect(result).toHaveProperty("status", 400);
		}),
		{ numRuns, seed, examples: examples("form") },
	);
});

test("a form is visited three times at most: a name twice, and its text", () => {
	fc.assert(
		fc.property(formLike, (body) => {
			let visited = 0;
			// Every byte is text of this encoding.
			for (const step of formToJSON(urlencodedFields(body), "koi8-r"))
				visited += step.visited;
			expect(visited).toBeLessThanOrEqual(3 * body.length + 1);
		}),
		{ numRuns, seed, examples: examples("form") },
	);
});

test("a mistake is found where the grammar finds it: what precedes can begin a JSON text, and that byte can't follow", () => {
	fc.assert(
		fc.property(jsonLike, fc.nat(), (body, at) => {
			fc.pre(isUtf8(body) && !isJSON(body));
			const cut = at % (body.length + 1);
			const parts = [body.subarray(0, cut), body.subarray(cut)];
			const { line, column, isEnd } = doNow(faultOf(parts));
			const lines = body.toString().split("\n");
			const before = [
				...lines.slice(0, line - 1),
				[...lines[line - 1]!].slice(0, column - 1).join(""),
			].join("\n");
			const scanner = new JSONScanner();
			expect(scanner.read(Buffer.from(before))).toBe(true);
			expect(isEnd).toBe(Buffer.byteLength(before) === body.length);
			const [next = ""] = body.toString().slice(before.length);
			if (!isEnd) expect(scanner.read(Buffer.from(next))).toBe(false);
		}),
		{ numRuns, seed },
	);
});

test("a JSON text is validated the same wherever it is cut", () => {
	const cut = fc.tuple(jsonLike, fc.nat()).map(([body, at]) => ({
		body,
		at: at % (body.length + 1),
	}));
	fc.assert(
		fc.property(cut, ({ body, at }) => {
			const [whole, parts] = [new JSONScanner(), new JSONScanner()];
			const is = whole.read(body) && whole.isWhole;
			const first = parts.read(body.subarray(0, at));
			expect(first && parts.read(body.subarray(at)) && parts.isWhole).toBe(is);
		}),
		{ numRuns, seed },
	);
});

test("no bytes decompress to more than the limit, or end otherwise than in an answer", async () => {
	const bytes = fc.uint8Array({ maxLength: 60 }).map((all) => Buffer.from(all));
	await fc.assert(
		fc.asyncProperty(bytes, async (body) => {
			for (const encoding of ["gzip", "deflate", "br", "zstd"] as const) {
				const result = await decompress(encoding, body, 100_000, () => true);
				if ("status" in result) expect([400, 413]).toContain(result.status);
				else
					expect(Buffer.concat(result).length).toBeLessThanOrEqual(64 * 1024);
			}
		}),
		{ numRuns: Math.ceil(numRuns / 15), seed, examples: examples("encoded") },
	);
});

/** Valid JSON, often damaged in a few places. */
const jsonLike: fc.Arbitrary<Buffer> = fc
	.tuple(
		fc.oneof(
			fc.json(),
			fc.json({ stringUnit: "binary" }),
			fc
				.array(
					fc.constantFrom(
						...'[]{},:" \t\n\r0123456789-+.eE\\u/bfnrtalsxX\0\ufeff\u00a0ü🧀',
						"null",
						"true",
						"false",
						'"a":',
						"\\ud800",
						"1e5",
						"-0",
					),
					{ maxLength: 12 },
				)
				.map((parts) => parts.join("")),
		),
		fc.array(
			fc.record({
				at: fc.nat(),
				remove: fc.nat(2),
				insert: fc.oneof(
					fc
						.constantFrom(...'[]{},:"0-.e\\ \n')
						.map((text) => Buffer.from(text)),
					fc.uint8Array({ maxLength: 2 }),
				),
			}),
			{ maxLength: 2 },
		),
	)
	.map(([text, damages]) =>
		damages.reduce((bytes, { at, remove, insert }) => {
			const start = at % (bytes.length + 1);
			return Buffer.concat([
				bytes.subarray(0, start),
				insert,
				bytes.subarray(start + remove),
			]);
		}, Buffer.from(text)),
	);

const formLike: fc.Arbitrary<Buffer> = fc
	.array(
		fc.oneof(
			fc
				.constantFrom(
					"&",
					"=",
					"+",
					"%",
					"%2",
					"%zz",
					"%C3",
					"%A4",
					"%00",
					"a",
					"b",
					"__proto__",
					"1",
					"?",
					"#",
					'"',
					"\\",
					"%ef%bb%bf",
				)
				.map((text) => Buffer.from(text)),
			fc
				.string({ maxLength: 3, unit: "binary" })
				.map((text) => Buffer.from(text)),
			fc.uint8Array({ maxLength: 3 }),
		),
		{ minLength: 1, maxLength: 30 },
	)
	.map((parts) => Buffer.concat(parts))
	.filter((bytes) => bytes.length > 0);

/** RFC 8259 §2 to §8.1. */
function isJSON(bytes: Buffer): boolean {
	try {
		const text = new TextDecoder("utf-8", {
			fatal: true,
			ignoreBOM: true,
		}).decode(bytes);
		const scanner = new Scanner(text);
		scanner.skip(whitespace);
		scanner.value();
		return scanner.isAtEnd;
	} catch {
		return false;
	}
}

const whitespace = /[ \t\n\r]*/y;
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: RFC 8259 §7 names them.
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"/y;
const literal = /true|false|null/y;

class Scanner {
	readonly #text: string;
	#at = 0;

	constructor(text: string) {
		this.#text = text;
	}

	get isAtEnd(): boolean {
		return this.#at === this.#text.length;
	}

	/** Skips the pattern's match here; false if it doesn't match. */
	skip(pattern: RegExp): boolean {
		pattern.lastIndex = this.#at;
		const found = pattern.test(this.#text);
		if (found) this.#at = pattern.lastIndex;
		return found;
	}

	value(): void {
		if (this.skip(/\{/y)) this.#items("}", () => this.#member());
		else if (this.skip(/\[/y)) this.#items("]", () => this.value());
		else if (![literal, number, string].some((each) => this.skip(each)))
			throw new SyntaxError();
		this.skip(whitespace);
	}

	#member(): void {
		if (!this.skip(string)) throw new SyntaxError();
		this.skip(whitespace);
		this.#expect(":");
		this.value();
	}

	#items(end: string, item: () => void): void {
		this.skip(whitespace);
		if (this.#text[this.#at] === end) {
			this.#at++;
			return;
		}
		for (;;) {
			item();
			if (this.#text[this.#at] === end) {
				this.#at++;
				return;
			}
			this.#expect(",");
		}
	}

	#expect(token: string): void {
		if (this.#text[this.#at] !== token) throw new SyntaxError();
		this.#at++;
		this.skip(whitespace);
	}
}

/** URL standard §5.1, "application/x-www-form-urlencoded parsing", on bytes as the standard describes it; undefined if they aren't UTF-8. */
function formAsJSON(bytes: Buffer): string | undefined {
	try {
		const values: [name: string, values: string[]][] = [];
		for (const sequence of split(bytes, 0x26)) {
			if (sequence.length === 0) continue;
			const at = sequence.indexOf(0x3d);
			const name = decoded(at === -1 ? sequence : sequence.subarray(0, at));
			const value = decoded(
				at === -1 ? Buffer.alloc(0) : sequence.subarray(at + 1),
			);
			const same = values.find(([other]) => other === name);
			if (same) same[1].push(value);
			else values.push([name, [value]]);
		}
		const members = values.map(
			([name, list]) =>
				`${JSON.stringify(name)}:${JSON.stringify(list.length === 1 ? list[0] : list)}`,
		);
		return `{${members.join(",")}}`;
	} catch {
		return undefined;
	}
}

function split(bytes: Buffer, separator: number): Buffer[] {
	const at = bytes.indexOf(separator);
	return at === -1
		? [bytes]
		: [bytes.subarray(0, at), ...split(bytes.subarray(at + 1), separator)];
}

function decoded(bytes: Buffer): string {
	const out: number[] = [];
	for (let i = 0; i < bytes.length; i++) {
		const hex = bytes.toString("latin1", i + 1, i + 3);
		if (bytes[i] === 0x25 && /^[0-9A-Fa-f]{2}$/.test(hex)) {
			out.push(Number.parseInt(hex, 16));
			i += 2;
		} else out.push(bytes[i] === 0x2b ? 0x20 : bytes[i]!);
	}
	return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
		Uint8Array.from(out),
	);
}
