import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { setGlobalProxyFromEnv } from "node:http";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { problem } from "../machine/errors.ts";
import { downloadSites, type PinnedRelease } from "./pinned.ts";

/** How long a server may take to answer. An unreachable network costs this once. */
const answerTimeoutMs = 5_000;
/** After this time without a byte a download has failed. */
const stallTimeoutMs = 30_000;

/** Why a file could not be downloaded. The caller may build it instead. */
export class DownloadFailure extends Error {
	override name = "DownloadFailure";
}

/** Fetches official releases. Asks an unreachable site only once. */
export class Downloader {
	readonly #env: NodeJS.ProcessEnv;
	readonly #signal: AbortSignal;
	readonly #unreachable = new Map<string, string>();

	constructor(env: NodeJS.ProcessEnv, signal: AbortSignal) {
		this.#env = env;
		this.#signal = signal;
	}

	/**
	 * Puts the program of a release at `target`, once its file has this SHA-256. Throws {@link DownloadFailure} when the
	 * download fails, and a LocalError when the file is another.
	 */
	async fetchProgram(
		release: PinnedRelease,
		sha256: string,
		name: string,
		target: string,
		report: (text: string) => void,
	): Promise<void> {
		const source = this.#urlOf(release.site, release.path);
		const scratch = `${target}.download-${process.pid}`;
		await mkdir(scratch, { recursive: true });
		try {
			const file = join(scratch, basename(release.path));
			const actual = await this.#save(source, file, report);
			if (actual !== sha256)
				throw problem.checksumMismatch(source, sha256, actual);
			const isArchive = /\.(tar\.gz|tgz|zip)$/.test(file);
			await rename(
				isArchive ? await unpack(file, scratch, name) : file,
				target,
			);
		} finally {
			await rm(scratch, { recursive: true, force: true });
		}
	}

	/** The SHA-256 in hex that the publisher tells of a release, in either of the two usual forms. Throws {@link DownloadFailure}. */
	async publishedDigest(release: PinnedRelease): Promise<string> {
		const url = this.#urlOf(release.site, release.checksums);
		const digest = digestIn(await this.#text(url), basename(release.path));
		if (digest) return digest;
		throw new DownloadFailure(
			`${url} has no SHA-256 of ${basename(release.path)}`,
		);
	}

	#urlOf(site: PinnedRelease["site"], path: string): string {
		const { url, variable } = downloadSites[site];
		setGlobalProxyFromEnv({ ...this.#env });
		return `${(this.#env[variable] || url).replace(/\/+$/, "")}${path}`;
	}

	async #text(url: string): Promise<string> {
		const { response, abort } = await this.#open(url);
		const timer = setTimeout(
			() => abort.abort(new Error("it stopped sending")),
			stallTimeoutMs,
		);
		try {
			return await response.text();
		} catch (error) {
			this.#signal.throwIfAborted();
			throw new DownloadFailure(`${url} broke off: ${reason(error)}`);
		} finally {
			clearTimeout(timer);
		}
	}

	/** Streams a file to disk; returns its SHA-256 in hex. */
	async #save(
		url: string,
		file: string,
		report: (text: string) => void,
	): Promise<string> {
		const { response, abort } = await this.#open(url);
		const total = Number(response.headers.get("content-length"));
		const hash = createHash("sha256");
		let received = 0;
		const stalled = () =>
			abort.abort(
				new DownloadFailure(
					`${url} stopped sending after ${megabytes(received)}`,
				),
			);
		let timer = setTimeout(stalled, stallTimeoutMs);
		try {
			await pipeline(
				Readable.fromWeb(response.body!),
				async function* (chunks: AsyncIterable<Buffer>) {
					for await (const chunk of chunks) {
						clearTimeout(timer);
						timer = setTimeout(stalled, stallTimeoutMs);
						hash.update(chunk);
						received += chunk.length;
						report(
							`downloading ${megabytes(received)}${total ? ` of ${megabytes(total)}` : ""}`,
						);
						yield chunk;
					}
				},
				createWriteStream(file),
			);
		} catch (error) {
			this.#signal.throwIfAborted();
			// Errors with a syscall are the disk's. All others are the network's.
			if ((error as NodeJS.ErrnoException).syscall) throw error;
			throw new DownloadFailure(
				`${url} broke off after ${megabytes(received)}${total ? ` of ${megabytes(total)}` : ""}: ${reason(error)}`,
			);
		} finally {
			clearTimeout(timer);
		}
		return hash.digest("hex");
	}

	async #open(
		url: string,
	): Promise<{ response: Response; abort: AbortController }> {
		const site = new URL(url).origin;
		const known = this.#unreachable.get(site);
		if (known) throw new DownloadFailure(known);
		const abort = new AbortController();
		const timer = setTimeout(
			() => abort.abort(new Error(`no answer in ${answerTimeoutMs / 1000} s`)),
			answerTimeoutMs,
		);
		try {
			const response = await fetch(url, {
				signal: AbortSignal.any([abort.signal, this.#signal]),
			});
			if (response.ok && response.body) return { response, abort };
			await response.body?.cancel();
			throw new DownloadFailure(`${url} answered ${response.status}`);
		} catch (error) {
			this.#signal.throwIfAborted();
			if (error instanceof DownloadFailure) throw error;
			const failure = `${site} can't be reached: ${reason(error)}`;
			this.#unreachable.set(site, failure);
			throw new DownloadFailure(failure);
		} finally {
			clearTimeout(timer);
		}
	}
}

/** Finds it as the digest alone, or in a line `<digest>  <file name>`. */
function digestIn(text: string, file: string): string | undefined {
	for (const line of text.split("\n")) {
		const [digest = "", name] = line.trim().split(/\s+/);
		const names = name === undefined || name.replace(/^(\*|\.\/)/, "") === file;
		if (names && /^[0-9a-f]{64}$/i.test(digest)) return digest.toLowerCase();
	}
	return undefined;
}

/** Unpacks an archive with the system's tar (macOS' bsdtar also reads zip) and finds the program in it. */
async function unpack(
	archive: string,
	directory: string,
	name: string,
): Promise<string> {
	const { promise, resolve, reject } = Promise.withResolvers<void>();
	const tar = spawn("tar", ["-xf", archive, "-C", directory], {
		stdio: ["ignore", "ignore", "pipe"],
	});
	let words = "";
	tar.stderr.on("data", (chunk: Buffer) => {
		words += chunk;
	});
	tar.on("error", reject);
	tar.on("close", (code) =>
		code === 0
			? resolve()
			: reject(new DownloadFailure(`tar can't unpack ${archive}: ${words}`)),
	);
	await promise;
	const entries = await readdir(directory, {
		recursive: true,
		withFileTypes: true,
	});
	const found = entries.find((entry) => entry.isFile() && entry.name === name);
	if (!found) throw new DownloadFailure(`${archive} holds no file ${name}`);
	return join(found.parentPath, found.name);
}

/** fetch puts the system's reason into `cause`. */
function reason(error: unknown): string {
	const { message, cause } = error as Error;
	return cause instanceof Error ? cause.message : message;
}

function megabytes(bytes: number): string {
	return `${(bytes / 1e6).toFixed(1)} MB`;
}
