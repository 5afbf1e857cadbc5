import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
// Node has no reader of tar, and the system's would write whatever an archive names before we have seen it.
import { extract as extractTar } from "tar-stream";
import { DownloadFailure } from "./archive-stream.ts";

/** Twice the biggest program, kube-apiserver. */
export const mostProgramBytes = 256 * 1024 ** 2;

/**
 * Writes the wanted files of a .tar.gz, readable only by their owner, and nothing else. Ends with a {@link DownloadFailure} at what a release
 * never has: links, `..`, a wanted file twice or too big.
 * @param files The path where each goes, by its exact path in the archive.
 */
export async function unpackFiles(
	chunks: AsyncIterable<Uint8Array>,
	files: Map<string, string>,
	mostBytes: number = mostProgramBytes,
): Promise<void> {
	const missing = new Map(files);
	const take = async (
		header: { name: string; type?: string | null; size?: number },
		content: AsyncIterable<unknown>,
	) => {
		const { name, type, size = 0 } = header;
		const refuse = (what: string) => {
			throw new DownloadFailure(`it holds ${what}, ${name}`);
		};
		if (name.startsWith("/") || name.split("/").includes(".."))
			refuse("a path that leaves its folder");
		if (type === "link" || type === "symlink") refuse("a link");
		const file = missing.get(name);
		if (!file && files.has(name)) refuse("a file twice");
		if (!file) {
			for await (const _ of content);
			return;
		}
		if (type !== "file") refuse("no file but something else");
		if (size > mostBytes) refuse(`a file of ${size} bytes`);
		missing.delete(name);
		await pipeline(
			Readable.from(content),
			createWriteStream(file, { mode: 0o600, flags: "wx" }),
		);
	};
	const extract = extractTar();
	extract.on("entry", (header, content, next) => {
		// What is refused ends the content, too, which nobody reads then. The pipeline tells it.
		content.on("error", () => undefined);
		take(header, content).then(() => next(), next);
	});
	await pipeline(Readable.from(chunks), createGunzip(), extract);
	const [absent] = missing.keys();
	if (absent) throw new DownloadFailure(`it holds no file ${absent}`);
}
