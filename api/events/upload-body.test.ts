import { expect, test } from "vitest";
import { filesOf } from "./upload-body.ts";

const file = { sha256: "0".repeat(64), bytes: 1 };

test("files of every allowed size and number are taken as they are", () => {
	const largest = { ...file, bytes: 1024 ** 3 };
	for (const files of [[file], [file, largest], Array(100).fill(file)])
		expect(filesOf({ files })).toEqual({ files });
});

test.each([
	[{}, "files"],
	[{ files: {} }, "files"],
	[{ files: [] }, "files"],
	[{ files: Array(101).fill(file) }, "files"],
	[{ files: [null] }, "files[0]"],
	[{ files: [file, []] }, "files[1]"],
	[{ files: [{ bytes: 1 }] }, "files[0].sha256"],
	[{ files: [{ ...file, sha256: "A".repeat(64) }] }, "files[0].sha256"],
	[{ files: [{ ...file, sha256: `${file.sha256}0` }] }, "files[0].sha256"],
	[{ files: [{ ...file, bytes: 0 }] }, "files[0].bytes"],
	[{ files: [{ ...file, bytes: 1.5 }] }, "files[0].bytes"],
	[{ files: [{ ...file, bytes: "1" }] }, "files[0].bytes"],
	[{ files: [{ ...file, bytes: 1024 ** 3 + 1 }] }, "files[0].bytes"],
	[{ files: [{ ...file, name: "a" }] }, "files[0].name"],
	[{ files: [file], more: 1 }, "more"],
])("%j is refused, naming the field: %#", (body, path) => {
	expect(() => filesOf(body)).toThrow(
		expect.objectContaining({
			code: "InvalidRequest",
			details: [expect.objectContaining({ path })],
		}),
	);
});
