import { mkdtempSync, readdirSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import { expect, test } from "vitest";
import { unpackFiles } from "./unpack.ts";

type Given = { name: string; type?: "file" | "symlink" | "link" | "directory" };

const wanted = "kubernetes/server/bin/kubectl";

async function archive(...entries: Given[]): Promise<Buffer> {
	const tar = pack();
	for (const { name, type = "file" } of entries)
		if (type === "file") tar.entry({ name }, name);
		else tar.entry({ name, type, linkname: "/etc/passwd" });
	tar.finalize();
	const chunks: Uint8Array[] = [];
	for await (const chunk of tar) chunks.push(chunk as Uint8Array);
	return gzipSync(Buffer.concat(chunks));
}

async function unpack(content: Buffer, mostBytes?: number) {
	const directory = mkdtempSync(join(tmpdir(), "tidemill-unpack-"));
	const inPieces = (async function* () {
		for (let at = 0; at < content.length; at += 7)
			yield content.subarray(at, at + 7);
	})();
	const files = new Map([[wanted, join(directory, "out")]]);
	await unpackFiles(inPieces, files, mostBytes);
	return directory;
}

test("of an archive only the wanted file is written, and nobody may run it", async () => {
	const directory = await unpack(
		await archive(
			{ name: "kubernetes/", type: "directory" },
			{ name: "kubernetes/server/bin/kube-proxy" },
			{ name: wanted },
			{ name: "other/kubernetes/server/bin/kubectl" },
		),
	);
	expect(readdirSync(directory)).toEqual(["out"]);
	expect(readFileSync(join(directory, "out"), "utf8")).toBe(wanted);
	expect(statSync(join(directory, "out")).mode & 0o777).toBe(0o600);
});

test.each<[string, Given[]]>([
	["a link", [{ name: wanted, type: "symlink" }]],
	["a link", [{ name: wanted, type: "link" }]],
	["a link", [{ name: "elsewhere", type: "symlink" }]],
	["a path that leaves its folder", [{ name: "kubernetes/../../x" }]],
	["a file twice", [{ name: wanted }, { name: wanted }]],
	["no file but something else", [{ name: wanted, type: "directory" }]],
	["no file kubernetes", [{ name: "kubectl" }]],
])("%s ends it", async (words, entries) => {
	await expect(unpack(await archive(...entries))).rejects.toThrow(words);
});

test("a file that is too big ends it", async () => {
	const content = await archive({ name: wanted });
	await expect(unpack(content, wanted.length - 1)).rejects.toThrow(
		`a file of ${wanted.length} bytes`,
	);
});

test("an archive that ends early ends it", async () => {
	const content = await archive({ name: wanted });
	await expect(unpack(content.subarray(0, -20))).rejects.toThrow(
		"unexpected end of file",
	);
});
