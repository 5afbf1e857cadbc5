import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DownloadFailure } from "./binaries/archive-stream.ts";
import { Downloader } from "./binaries/download.ts";
import {
	type Digest,
	type PinnedRelease,
	pinnedBinaries,
} from "./binaries/pinned.ts";
import { runCommand } from "./machine/errors.ts";

/**
 * `npm run pin`: writes the digest of every release of this version's servers, as their publishers tell them now. Run it where
 * the publishers can be reached, after each change of a version, and commit the file.
 */
async function pin(): Promise<number> {
	const downloader = new Downloader(process.env, new AbortController().signal);
	const digests: Record<string, Digest> = {};
	try {
		for (const release of releases())
			digests[release.path] ??= await downloader.publishedDigest(release);
	} catch (error) {
		if (!(error instanceof DownloadFailure)) throw error;
		process.stderr.write(`${error.message}. Nothing is pinned.\n`);
		return 1;
	}
	const file = join(import.meta.dirname, "binaries/release-digests.json");
	writeFileSync(file, `${JSON.stringify(digests, undefined, "\t")}\n`);
	process.stdout.write(`Pinned ${Object.keys(digests).length} releases.\n`);
	return 0;
}

function releases(): PinnedRelease[] {
	const platforms = ["linux", "darwin"].flatMap((os) =>
		["x64", "arm64"].map((arch) => ({ os, arch })),
	);
	return Object.values(pinnedBinaries).flatMap(({ release }) =>
		platforms.map(release).filter((found) => found !== undefined),
	);
}

await runCommand(pin);
