import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { mountSecret } from "../../test/support/faults/mounted-secret.ts";
import { createLog } from "./log.ts";
import { SecretFileError, SecretFiles } from "./secret-files.ts";
import { SettingError } from "./settings.ts";

const log = createLog("test");
log.level = "silent";
let directory: string;
let opened: SecretFiles<string>[];

beforeEach(() => {
	vi.useFakeTimers();
	directory = mkdtempSync(join(tmpdir(), "secret-files-"));
	opened = [];
});
afterEach(() => {
	for (const each of opened) each.close();
	vi.useRealTimers();
	vi.restoreAllMocks();
});

const mount = (files: Record<string, string>) => mountSecret(directory, files);

/** A pair that belongs together if both files hold the same text. */
function open(): SecretFiles<string> {
	const files = ["cert", "key"].map((name) => join(directory, name));
	const pair = new SecretFiles({
		setting: "PAIR",
		files: () => files,
		parse: (read) => {
			const [cert, key] = files.map((file) => {
				try {
					return read(file);
				} catch (error) {
					throw new SettingError((error as Error).message);
				}
			});
			if (cert !== key)
				throw new SettingError("cert and key don't belong together");
			return cert!;
		},
		log,
	});
	opened.push(pair);
	return pair;
}

test("a Secret that kubelet replaces is read within 10 s, and listeners hear of it once", () => {
	mount({ cert: "1", key: "1" });
	const pair = open();
	const heard = vi.fn();
	pair.onChange(heard);
	mount({ cert: "2", key: "2" });
	expect(pair.value).toBe("1");
	vi.advanceTimersByTime(10_000);
	expect(pair.value).toBe("2");
	vi.advanceTimersByTime(60_000);
	expect(heard.mock.calls).toEqual([["2"]]);
});

test("after a refusal it is read at once, but not at each of many refusals", () => {
	mount({ cert: "1", key: "1" });
	const pair = open();
	vi.advanceTimersByTime(1_000);
	mount({ cert: "2", key: "2" });
	pair.refused();
	expect(pair.value).toBe("2");
	mount({ cert: "3", key: "3" });
	pair.refused();
	expect(pair.value).toBe("2");
});

test("a half-written pair keeps the former value, with one warning, and its second half completes it", () => {
	mount({ cert: "1", key: "1" });
	const warn = vi.spyOn(log, "warn");
	const pair = open();
	writeFileSync(join(directory, "cert"), "2");
	vi.advanceTimersByTime(60_000);
	expect(pair.value).toBe("1");
	expect(warn).toHaveBeenCalledOnce();
	expect(warn.mock.calls[0]![0]).toMatchObject({ setting: "PAIR" });
	writeFileSync(join(directory, "key"), "2");
	vi.advanceTimersByTime(10_000);
	expect(pair.value).toBe("2");
});

test("files that are gone for a while keep the former value", () => {
	mount({ cert: "1", key: "1" });
	const pair = open();
	rmSync(join(directory, "..data"), { recursive: true });
	vi.advanceTimersByTime(10_000);
	expect(pair.value).toBe("1");
});

test("files without a value at the start are an error that names them", () => {
	mkdirSync(join(directory, "none"));
	expect(open).toThrow(SecretFileError);
});
