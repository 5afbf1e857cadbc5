import { hash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { mountSecret } from "../../test/support/faults/mounted-secret.ts";
import { passingDirectory } from "../../test/support/faults/passing-directory.ts";
import { createLog } from "./log.ts";
import { readSealKeys, SealKey } from "./seal-key.ts";
import { SettingError, Settings } from "./settings.ts";

const log = createLog("test");
const key = new SealKey(Buffer.alloc(32, 1));
const secret = Buffer.from("whsec_s3cret");

test("a sealed secret opens only with the same key for the same purpose", () => {
	const sealed = key.seal(secret, "source a");
	expect(Buffer.from(sealed, "base64").includes(secret)).toBe(false);
	expect(key.open(sealed, "source a")).toEqual(secret);
	expect(() => key.open(sealed, "source b")).toThrow();
	expect(() =>
		new SealKey(Buffer.alloc(32, 2)).open(sealed, "source a"),
	).toThrow();
});

test("a changed or missing byte is refused", () => {
	const sealed = Buffer.from(key.seal(secret, "a"), "base64");
	for (let at = 0; at < sealed.length; at++) {
		const changed = Buffer.from(sealed);
		changed[at]! ^= 1;
		expect(() => key.open(changed.toString("base64"), "a")).toThrow();
	}
	for (const length of [0, 5, 20, sealed.length - 1])
		expect(() =>
			key.open(sealed.subarray(0, length).toString("base64"), "a"),
		).toThrow();
});

test("the same secret seals to the same text; any other has its own nonce", () => {
	expect(key.seal(secret, "a")).toBe(key.seal(secret, "a"));
	const nonces = [
		key.seal(secret, "a"),
		key.seal(secret, "b"),
		key.seal(Buffer.from("other"), "a"),
	].map((sealed) => sealed.slice(0, 16));
	expect(new Set(nonces).size).toBe(3);
});

test("a digest is nobody's who lacks the key, and differs from purpose to purpose", () => {
	const digest = key.digest("token", "source a");
	expect(digest).toMatch(/^[0-9a-f]{64}$/);
	expect(key.digest(Buffer.from("token"), "source a")).toBe(digest);
	const others = [
		hash("sha256", "token"),
		key.digest("token", "source b"),
		key.digest("token2", "source a"),
		new SealKey(Buffer.alloc(32, 2)).digest("token", "source a"),
	];
	expect(others).not.toContain(digest);
});

test("the key is read from a file; a short or missing file is named", async () => {
	expect(readSealKeys(new Settings({}), log)).toBeUndefined();
	const file = join(await passingDirectory("seal-key"), "key");
	const settings = new Settings({ TIDEMILL_SEAL_KEY: file });
	expect(() => readSealKeys(settings, log)).toThrow(SettingError);
	writeFileSync(file, "short\n");
	expect(() => readSealKeys(settings, log)).toThrow(/at least 32/);
	const text = "0123456789abcdef".repeat(4);
	writeFileSync(file, `${text}\n`);
	const read = readSealKeys(settings, log)!;
	expect(
		new SealKey(Buffer.from(text)).open(read.current.seal(secret, "a"), "a"),
	).toEqual(secret);
});

test("while one key replaces another, both open what they have sealed, and only the current one seals", async () => {
	const directory = join(await passingDirectory("seal-keys"), "secret");
	const [former, next] = ["f", "n"].map((letter) => letter.repeat(48));
	const ring = (files: Record<string, string>) => {
		mountSecret(directory, files);
		const file = join(directory, "seal-key");
		const keys = readSealKeys(new Settings({ TIDEMILL_SEAL_KEY: file }), log)!;
		onTestFinished(() => keys.close());
		return keys;
	};
	const [formerKey, nextKey] = [former!, next!].map(
		(text) => new SealKey(Buffer.from(text)),
	);
	const sealed = [formerKey!, nextKey!].map(
		(key) => [key.seal(secret, "a"), key.id] as const,
	);
	const opens = (keys: ReturnType<typeof ring>) =>
		sealed.map(([text, id]) => {
			try {
				return keys.open(text, "a", id).equals(secret);
			} catch {
				return false;
			}
		});
	const first = ring({ "seal-key": former! });
	expect([first.current.id, ...opens(first)]).toEqual([
		formerKey!.id,
		true,
		false,
	]);
	const second = ring({ "seal-key": former!, "seal-key-next": next! });
	expect([second.current.id, ...opens(second)]).toEqual([
		formerKey!.id,
		true,
		true,
	]);
	const third = ring({ "seal-key": next!, "seal-key-former": former! });
	expect([third.current.id, ...opens(third)]).toEqual([
		nextKey!.id,
		true,
		true,
	]);
	// An earlier version names no key.
	for (const [text] of sealed) expect(third.open(text, "a")).toEqual(secret);
	const last = ring({ "seal-key": next! });
	expect([last.current.id, ...opens(last)]).toEqual([nextKey!.id, false, true]);
});
