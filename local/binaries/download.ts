import { createHash } from "node:crypto";
import { setGlobalProxyFromEnv } from "node:http";
import { basename } from "node:path";
import {
	DownloadFailure,
	type Received,
	SiteClient,
} from "./archive-stream.ts";
import {
	type Digest,
	downloadSites,
	type PinnedArchive,
	type PinnedRelease,
} from "./pinned.ts";
import { unpackFiles } from "./unpack.ts";

/** The file came whole and is another than the pinned one. */
export class WrongDigest extends DownloadFailure {
	override name = "WrongDigest";
	readonly url: string;
	readonly expected: Digest;
	readonly actual: Digest;

	constructor(url: string, expected: Digest, actual: Digest) {
		super(`${url} is not the file that this version of Tidemill pins`);
		this.url = url;
		this.expected = expected;
		this.actual = actual;
	}
}

/** Fetches official releases. */
export class Downloader {
	readonly #env: NodeJS.ProcessEnv;
	readonly #site: SiteClient;

	constructor(env: NodeJS.ProcessEnv, signal: AbortSignal) {
		this.#env = env;
		this.#site = new SiteClient(signal);
	}

	/**
	 * Writes programs of an archive aside, and returns once the archive was read to its end and has the digest. Until then nobody may
	 * run them. Throws {@link DownloadFailure}.
	 * @param files The path where each goes, by its path in the archive.
	 */
	async fetchPrograms(
		archive: PinnedArchive,
		digest: Digest,
		files: Map<string, string>,
		{
			longestSeconds,
			onReceived,
		}: { longestSeconds: number; onReceived: (received: Received) => void },
	): Promise<void> {
		const url = this.#urlOf(archive.site, archive.path);
		const hash = createHash(algorithmOf(digest));
		const pieces = this.#site.gzip(url, longestSeconds, onReceived);
		// The end of one isn't the end of the other: what can't be unpacked is still read, to tell whether it is the pinned file.
		const hashed = async function* () {
			for (;;) {
				const { done, value } = await pieces.next();
				if (done) return;
				hash.update(value);
				yield value;
			}
		};
		let damage: Error | undefined;
		try {
			await unpackFiles(hashed(), files);
		} catch (error) {
			const { syscall, name, code } = error as NodeJS.ErrnoException;
			const isOthers =
				error instanceof DownloadFailure || name === "AbortError";
			// A system call's error is the disk's.
			if (isOthers || syscall) throw error;
			if (code === "Z_BUF_ERROR")
				throw new DownloadFailure(`${url} ended early`);
			damage = error as Error;
			for await (const piece of pieces) hash.update(piece);
		} finally {
			await pieces.return(undefined);
		}
		const actual: Digest = `${algorithmOf(digest)}:${hash.digest("hex")}`;
		if (actual !== digest) throw new WrongDigest(url, digest, actual);
		if (damage)
			throw new DownloadFailure(`${url} can't be unpacked: ${damage.message}`);
	}

	/** The digest that the publisher tells of a release, in one of the usual forms. Throws {@link DownloadFailure}. */
	async publishedDigest(release: PinnedRelease): Promise<Digest> {
		const url = this.#urlOf(release.site, release.checksums);
		const { algorithm } = release;
		const file = basename(release.path);
		const hex = digestIn(await this.#site.text(url), file, algorithm);
		if (hex) return `${algorithm}:${hex}`;
		throw new DownloadFailure(`${url} has no ${algorithm} of ${file}`);
	}

	#urlOf(site: PinnedRelease["site"], path: string): string {
		const { url, variable } = downloadSites[site];
		setGlobalProxyFromEnv({ ...this.#env });
		return `${(this.#env[variable] || url).replace(/\/+$/, "")}${path}`;
	}
}

const hexDigits = { sha256: 64, sha512: 128 };

/** Finds it as the digest alone, in a line `<digest>  <file name>`, or as `hash:` below the file's name, as envtest tells it. */
function digestIn(
	text: string,
	file: string,
	algorithm: keyof typeof hexDigits,
): string | undefined {
	const form = new RegExp(`^[0-9a-f]{${hexDigits[algorithm]}}$`, "i");
	const lines = text.split("\n").map((line) => line.trim());
	const below = lines[lines.indexOf(`${file}:`) + 1]?.replace(/^hash: */, "");
	for (const line of [...lines, `${below}  ${file}`]) {
		const [digest = "", name] = line.split(/\s+/);
		const names = name === undefined || name.replace(/^(\*|\.\/)/, "") === file;
		if (names && form.test(digest)) return digest.toLowerCase();
	}
	return undefined;
}

function algorithmOf(digest: Digest): keyof typeof hexDigits {
	return digest.split(":")[0] as keyof typeof hexDigits;
}
