// In make test: ingest/receive/text/json.test.ts
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseExact, rawNumberOf } from "../../../packages/json/json-reader.ts";
import { doNow } from "../admission/long-work.ts";
import { textAt } from "./json-pointer.ts";

/** As in request-body.fuzz.all.test.ts. */
const numRuns = Number(process.env.FUZZ_RUNS ?? 500);
const seed = Number(process.env.FUZZ_SEED ?? 17);

test("a JSON Pointer finds what JSON.parse has there", () => {
	const names = fc.constantFrom(
		"a",
		"b",
		"",
		"0",
		"1",
		"~",
		"/",
		"ü",
		"__proto__",
	);
	const { tree } = fc.letrec<{ tree: string; leaf: string }>((tie) => ({
		leaf: fc.constantFrom(
			'"x"',
			'"\\u0061\\""',
			"1",
			"-0",
			"1.5",
			"1e3",
			"true",
			"null",
			'""',
		),
		tree: fc.oneof(
			{ maxDepth: 4 },
			tie("leaf"),
			fc
				.array(tie("tree"), { maxLength: 3 })
				.map((all) => `[ ${all.join(" , ")} ]`),
			fc
				.array(fc.tuple(names, tie("tree")), { maxLength: 4 })
				.map(
					(all) =>
						`{${all.map(([name, json]) => ` ${JSON.stringify(name)} : ${json}`).join(",")} }`,
				),
		),
	}));
	let found = 0;
	fc.assert(
		fc.property(tree, fc.array(names, { maxLength: 3 }), (json, parts) => {
			const pointer = parts
				.map((part) => `/${part.replaceAll("~", "~0").replaceAll("/", "~1")}`)
				.join("");
			const text = doNow(textAt(pointer, Buffer.from(json)));
			expect(text).toBe(parsedAt(json, parts));
			if (text !== undefined) found++;
		}),
		{ numRuns, seed },
	);
	expect(found).toBeGreaterThan(numRuns / 50);
});

/** RFC 6901 §4 on the tree of JSON.parse, with numbers as they are written. */
function parsedAt(json: string, parts: readonly string[]): string | undefined {
	let value: unknown = parseExact(json);
	for (const part of parts) {
		if (typeof value !== "object" || value === null) return undefined;
		if (Array.isArray(value) && !/^(0|[1-9]\d*)$/.test(part)) return undefined;
		if (!Object.hasOwn(value, part)) return undefined;
		value = (value as Record<string, unknown>)[part];
	}
	if (typeof value === "string") return value;
	const text = rawNumberOf(value) ?? String(value);
	const isNumber = typeof value === "number" || typeof value === "object";
	if (isNumber && /^-?[1-9]\d*$/.test(text)) return text;
	return Number.isSafeInteger(value) ? String(value) : undefined;
}
