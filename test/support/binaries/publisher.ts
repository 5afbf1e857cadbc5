import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	writeFileSync,
} from "node:fs";
import {
	createServer,
	type IncomingMessage,
	type RequestListener,
	type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import {
	type BinaryName,
	type Digest,
	pinnedBinaries,
} from "../../../local/binaries/pinned.ts";

const tools = "/usr/bin:/bin";
const platform = { os: process.platform, arch: process.arch };

/** A machine with an empty cache, only the system's tools on PATH, and publishers that can't be reached. */
export function emptyMachine() {
	const directory = mkdtempSync(join(tmpdir(), "tidemill-binaries-"));
	const place = (name: string) => {
		mkdirSync(join(directory, name), { recursive: true });
		return join(directory, name);
	};
	const cache = join(directory, "cache");
	const env: NodeJS.ProcessEnv = {
		TIDEMILL_CACHE: cache,
		// Nothing listens on port 1.
		TIDEMILL_DOWNLOAD_GITHUB: "http://127.0.0.1:1",
		TIDEMILL_DOWNLOAD_KUBERNETES: "http://127.0.0.1:1",
		PATH: `${place("path")}:${tools}`,
	};
	return {
		directory,
		env,
		place,
		/** The whole cache, with what is in its folders. */
		cacheEntries: () =>
			existsSync(cache)
				? (readdirSync(cache, { recursive: true }) as string[]).sort()
				: [],
	};
}

/** A program that prints a version, as each does. */
export function program(path: string, version: string): string {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, `#!/bin/sh\necho "v${version}"\n`);
	chmodSync(path, 0o755);
	return path;
}

/** The release of these programs in their publisher's layout, and its digest by its path. */
export function release(...names: BinaryName[]): {
	path: string;
	content: Buffer;
	digest: Digest;
	digests: Record<string, Digest>;
} {
	const root = mkdtempSync(join(tmpdir(), "tidemill-release-"));
	const releases = names.map((name) => pinnedBinaries[name].release(platform)!);
	for (const { member, version } of releases)
		program(join(root, member), version);
	const { path, algorithm } = releases[0]!;
	const content = execFileSync("tar", ["-czf", "-", ...readdirSync(root)], {
		cwd: root,
	});
	const digest: Digest = `${algorithm}:${createHash(algorithm).update(content).digest("hex")}`;
	return { path, content, digest, digests: { [path]: digest } };
}

/** A stand-in for the publisher's site. `seen` has the path of each request, `ranges` what it wants of the file. */
export async function publisher(answer: RequestListener) {
	const seen: string[] = [];
	const ranges: (string | undefined)[] = [];
	const requests: IncomingMessage[] = [];
	const server = createServer((request, response) => {
		seen.push(request.url!);
		ranges.push(request.headers.range);
		requests.push(request);
		answer(request, response);
	});
	await new Promise<void>((resolve) =>
		server.listen(0, "127.0.0.1", () => resolve()),
	);
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	const { port } = server.address() as AddressInfo;
	return { url: `http://127.0.0.1:${port}`, server, seen, ranges, requests };
}

/** Sends the part of a file that a request asks for, up to `until`; a transfer that ends before the end is cut. */
export function sendPart(
	content: Buffer,
	request: IncomingMessage,
	response: ServerResponse,
	until = content.length,
): void {
	const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1]);
	const start = from || 0;
	response.writeHead(from ? 206 : 200, {
		"content-type": "application/gzip",
		"content-length": content.length - start,
		...(from && {
			"content-range": `bytes ${start}-${content.length - 1}/${content.length}`,
		}),
	});
	if (until === content.length) response.end(content.subarray(start));
	else
		response.write(content.subarray(start, until), () =>
			setImmediate(() => response.destroy()),
		);
}

/** A fake Go that "builds" shell scripts as the programs, and adds a line to `builds` each time. */
export function fakeGo(
	directory: string,
	builds: string,
	body?: string,
): string {
	const go = join(directory, "go");
	writeFileSync(
		go,
		`#!/bin/sh
case $1 in
list) echo a/b; exit 0 ;;
esac
echo "built in $(basename "$PWD")" >> ${builds}
${
	body ??
	`while [ "$1" != -o ]; do shift; done
out=$2
shift 2
for package; do
  case $out in */) file=$out$(basename "$package") ;; *) file=$out ;; esac
  printf '#!/bin/sh\\necho v9.8.7\\n' > "$file"
  chmod +x "$file"
done`
}
`,
	);
	chmodSync(go, 0o755);
	return go;
}

export function buildsIn(file: string): string {
	return existsSync(file) ? readFileSync(file, "utf8") : "";
}
