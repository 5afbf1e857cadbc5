import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { attackTests } from "./attack-tests.ts";
import { credentialAddresses } from "./credential-addresses.ts";
import { type Proof, tableOf, type Words } from "./page.ts";
import { stolen } from "./stolen-credentials.ts";

/* Each word of docs/security.md and docs/reference/rights.md on what a credential gives, and where it may go, is one that a test has seen. */

const root = join(import.meta.dirname, "../..");
/** As people read it. */
const plain = (cell: string) =>
	cell.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", "");

/** A test that isn't there, or none at all. */
function missing(proofs: readonly Proof[]): unknown[] {
	if (proofs.length === 0) return ["no proof"];
	return proofs.filter((proof) => {
		if (typeof proof !== "string") return false;
		const [file, title] = proof.split(/ > (.*)/s) as [string, string];
		const path = join(root, file);
		if (!existsSync(path)) return true;
		const text = readFileSync(path, "utf8");
		const titled = [`"${title}"`, `\`${title}\``, `function ${title}(`];
		return !titled.some((written) => text.includes(written));
	});
}

/** What no words of the list are about. */
function unproved(cell: string, words: Words): string {
	let left = plain(cell);
	for (const [said] of words) {
		if (!left.includes(said)) return `${said} (isn't said)`;
		left = left.replace(said, "");
	}
	return left.replaceAll(/[\s,;:]/g, "");
}

const rows = [...tableOf("Stolen")].map(
	([what, cells]) => [plain(what), cells] as const,
);

test("each stolen credential of docs/reference/rights.md is one of the list, and the other way round", () => {
	expect(rows.map(([what]) => what).sort()).toEqual(Object.keys(stolen).sort());
});

describe.each(rows)(
	"%s",
	(what, { "The thief can": can, "and can't": cannot }) => {
		const { [what]: shown = { can: [] } } = stolen;

		test("does what is said, and a test shows each part", () => {
			expect(unproved(can!, shown.can)).toBe("");
			expect(unproved(cannot!, shown.cannot ?? [])).toBe("");
			for (const [words, ...proofs] of [...shown.can, ...(shown.cannot ?? [])])
				expect(missing(proofs), words).toEqual([]);
		});
	},
);

const credentials = [...tableOf("Credential")].map(
	([what, cells]) => [plain(what), cells] as const,
);

test("each credential of docs/security.md is one of the list, and the other way round", () => {
	expect(credentials.map(([what]) => what)).toEqual(
		Object.keys(credentialAddresses),
	);
});

test.each(credentials)(
	"%s: who chooses it, where it goes and what binds them is as said, and a test shows each part",
	(what, cells) => {
		const shown = Object.entries(credentialAddresses[what] ?? {});
		expect(shown.map(([column]) => column)).toEqual(Object.keys(cells));
		for (const [column, words] of shown) {
			expect(unproved(cells[column]!, words), column).toBe("");
			for (const [said, ...proofs] of words)
				expect(missing(proofs), said).toEqual([]);
		}
	},
);

const attacks = [...tableOf("Attack")];

test("each attack that was tried says what happened, and is one of the list", () => {
	expect(attacks.length).toBeGreaterThan(100);
	for (const [attack, { "Held: what happens": held = "" }] of attacks)
		expect(held, attack).not.toBe("");
	const begun = attacks.map(([attack]) =>
		attackTests.filter(([begins]) => attack.startsWith(begins)),
	);
	expect(begun.map((found) => found.map(([begins]) => begins))).toEqual(
		attackTests.map(([begins]) => [begins]),
	);
});

test.each(attackTests)(
	"%s: the page links the files of these tests, and they are there",
	(begins, proofs) => {
		const [, { Test = "" } = {}] =
			attacks.find(([attack]) => attack.startsWith(begins)) ?? [];
		const linked = Array.from(
			Test.matchAll(/\]\((?:\.\.\/)+([\w./-]+\.ts)\)/g),
			([, file]) => file,
		);
		const files = proofs.map((proof) => String(proof).split(" > ")[0]);
		expect([...new Set(files)].sort()).toEqual(linked.sort());
		expect(missing(proofs)).toEqual([]);
	},
);
