import { expect, test } from "vitest";
import { questions } from "./questions.ts";

const { manifest, deletion } = questions;

const good = {
	run: "0b6f0b5e-1111-4222-8333-444455556666",
	account: "shop",
	sourceKey: "ffeeddccbbaa99887766554433221100",
	extent: "Rest",
	start: "2026-03-01",
	linkSeconds: 600,
	renew: true,
	report: true,
	released: true,
};

test("a valid request is read unchanged", () => {
	expect(manifest.read(JSON.stringify(good))).toEqual(good);
});

test.each([
	["", "not JSON"],
	["null", "run is undefined"],
	[{ ...good, run: "../cuts/x" }, 'run is "../cuts/x"'],
	[{ ...good, account: "a/b" }, 'account is "a/b"'],
	[{ ...good, sourceKey: "" }, "sourceKey"],
	[{ ...good, start: "yesterday" }, 'start is "yesterday"'],
	[{ ...good, end: 5 }, "end is 5"],
	[{ ...good, linkSeconds: 0 }, "linkSeconds is 0"],
	[{ ...good, linkSeconds: "600" }, 'linkSeconds is "600"'],
	[{ ...good, extent: undefined }, "extent is undefined"],
	[{ ...good, extent: "All" }, 'extent is "All"'],
])("%j is refused", (request, reason) => {
	const text = typeof request === "string" ? request : JSON.stringify(request);
	expect(() => manifest.read(text)).toThrow(reason);
});

test("a deletion request names one source, in full", () => {
	const { account, sourceKey } = good;
	expect(deletion.read(JSON.stringify(good))).toEqual({
		account,
		sourceKey,
	});
	// Otherwise it would be the prefix of many sources' objects.
	expect(() =>
		deletion.read(JSON.stringify({ account, sourceKey: "f" })),
	).toThrow('The deletion request\'s sourceKey is "f"');
});

test.each<[string, string, boolean]>([
	["run", "r".repeat(64), true],
	["run", "r".repeat(65), false],
	["run", "r", true],
	["run", "", false],
	["account", "a".repeat(63), true],
	["account", "a".repeat(64), false],
	["account", "a", true],
	["account", "ab", true],
	["account", "a9-9a", true],
	["account", "9a9", true],
	["account", "-a", false],
	["account", "a-", false],
	["account", "A", false],
	["sourceKey", "f".repeat(33), false],
	["start", "2026-03-011", false],
])("whether the %s %j is valid", (name, value, isValid) => {
	const read = () => manifest.read(JSON.stringify({ ...good, [name]: value }));
	if (isValid) expect(read()).toMatchObject({ [name]: value });
	else expect(read).toThrow(`The manifest request's ${name} is`);
});
