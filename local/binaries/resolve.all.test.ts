// In make test: local/binaries/download.test.ts
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
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { pinnedBinaries } from "./pinned.ts";
import { cachePath, resolveBinaries } from "./resolve.ts";

const { version, release } = pinnedBinaries["nats-server"];
const { path: archivePath, checksums: checksumsPath } = release({
	os: process.platform,
	arch: process.arch,
})!;
/** SHA-256 of what nobody sends. */
const unknown = "0".repeat(64);
const tools = "/usr/bin:/bin";

/** A machine with an empty cache, only the system's tools on PATH, and publishers that can't be reached. */
function machine() {
	const directory = mkdtempSync(join(tmpdir(), "tidemill-binaries-"));
	const place = (name: string) => {
		mkdirSync(join(directory, name), { recursive: true });
		return join(directory, name);
	};
	const env: NodeJS.ProcessEnv = {
		TIDEMILL_CACHE: join(directory, "cache"),
		// Nothing listens on port 1.
		TIDEMILL_DOWNLOAD_GITHUB: "http://127.0.0.1:1",
		PATH: `${place("path")}:${tools}`,
	};
	return {
		directory,
		env,
		place,
		/** @param sha256 the committed one of the release; none when absent. */
		resolve: async (sha256?: string) => {
			const digests = sha256 ? { [archivePath]: sha256 } : {};
			const options = { env, digests };
			return (await resolveBinaries(["nats-server"], options))["nats-server"];
		},
		cached: cachePath("nats-server", env),
		cacheEntries: () =>
			existsSync(join(directory, "cache"))
				? readdirSync(join(directory, "cache"))
				: [],
	};
}

/** A program that prints a version like nats-server. */
function program(path: string, itsVersion = version): string {
	writeFileSync(path, `#!/bin/sh\necho "nats-server: v${itsVersion}"\n`);
	chmodSync(path, 0o755);
	return path;
}

/** The publisher's archive, with the program in a folder. */
function archive(directory: string): Buffer {
	mkdirSync(join(directory, "release"), { recursive: true });
	program(join(directory, "release", "nats-server"));
	const file = join(directory, "release.tar.gz");
	execFileSync("tar", ["-czf", file, "-C", directory, "release"]);
	return readFileSync(file);
}

function sha256Of(content: Buffer): string {
	return createHash("sha256").update(content).digest("hex");
}

function checksums(content: Buffer): string {
	const file = archivePath.split("/").at(-1);
	return `${unknown}  another.tar.gz\n${sha256Of(content)}  ${file}\n`;
}

/** A stand-in for the publisher's site. Counts its requests. */
async function publisher(answer: RequestListener) {
	const seen: string[] = [];
	const server = createServer((request, response) => {
		seen.push(request.url!);
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
	return { url: `http://127.0.0.1:${port}`, seen };
}

/** A fake Go that "builds" a shell script as the program, and adds a line to `builds` each time. */
function fakeGo(directory: string, builds: string, body?: string): string {
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
printf '#!/bin/sh\\necho v${version}\\n' > "$2"
chmod +x "$2"`
}
`,
	);
	chmodSync(go, 0o755);
	return go;
}

test("TIDEMILL_BIN comes first, in any version", async () => {
	const { env, place, resolve, cached } = machine();
	mkdirSync(env.TIDEMILL_CACHE!);
	program(cached);
	env.TIDEMILL_BIN = place("bin");
	const mine = program(join(env.TIDEMILL_BIN, "nats-server"), "9.9.9");
	expect(await resolve()).toBe(mine);
});

test("a program missing from TIDEMILL_BIN comes from the cache", async () => {
	const { env, place, resolve, cached } = machine();
	env.TIDEMILL_BIN = place("bin");
	mkdirSync(env.TIDEMILL_CACHE!);
	program(cached);
	expect(await resolve()).toBe(cached);
});

test("a TIDEMILL_BIN that is not a folder is an error", async () => {
	const { env, resolve } = machine();
	env.TIDEMILL_BIN = "/dev/null";
	await expect(resolve()).rejects.toThrow("TIDEMILL_BIN is /dev/null");
});

test("a file for another processor is an error that says what to do", async () => {
	const { env, place, resolve } = machine();
	env.TIDEMILL_BIN = place("bin");
	const file = join(env.TIDEMILL_BIN, "nats-server");
	writeFileSync(file, "\x7fELF for something else", { mode: 0o755 });
	await expect(resolve()).rejects.toThrow(
		/nats-server does not run on this machine.*another system or processor.*replace it/,
	);
});

test("a program on PATH is not used", async () => {
	const { place, resolve, directory, cached } = machine();
	program(join(place("path"), "nats-server"));
	fakeGo(place("path"), join(directory, "builds"));
	expect(await resolve()).toBe(cached);
});

test("a download with the committed checksum is kept for the next time", async () => {
	const { env, directory, resolve, cached, cacheEntries } = machine();
	const content = archive(directory);
	const site = await publisher((_request, response) => response.end(content));
	env.TIDEMILL_DOWNLOAD_GITHUB = site.url;
	expect(await resolve(sha256Of(content))).toBe(cached);
	expect(await resolve(sha256Of(content))).toBe(cached);
	expect(site.seen).toEqual([archivePath]);
	expect(cacheEntries()).toEqual([cached.split("/").at(-1)]);
});

test("a release without a committed checksum is not even asked for, but built", async () => {
	const { env, directory, place, resolve, cached } = machine();
	const builds = join(directory, "builds");
	fakeGo(place("path"), builds);
	const content = archive(directory);
	const site = await publisher((request, response) =>
		response.end(request.url === checksumsPath ? checksums(content) : content),
	);
	env.TIDEMILL_DOWNLOAD_GITHUB = site.url;
	expect(await resolve()).toBe(cached);
	expect(site.seen).toEqual([]);
	expect(readFileSync(builds, "utf8")).toBe("built in nats-server\n");
});

test("a site that changes a release and its checksum file is refused", async () => {
	const { env, directory, place, resolve, cacheEntries } = machine();
	fakeGo(place("path"), join(directory, "builds"));
	const content = archive(directory);
	const site = await publisher((request, response) =>
		response.end(request.url === checksumsPath ? checksums(content) : content),
	);
	env.TIDEMILL_DOWNLOAD_GITHUB = site.url;
	await expect(resolve(unknown)).rejects.toThrow(
		/is not the file that this version of Tidemill pins.*TIDEMILL_DOWNLOADS=off/,
	);
	expect(cacheEntries()).toEqual([]);
});

const brokenDownloads: [string, RequestListener, string][] = [
	[
		"is missing",
		(_request, response) => response.writeHead(404).end(),
		"answered 404",
	],
	[
		"breaks off",
		(_request, response) => {
			response.writeHead(200, { "content-length": "1000000" });
			response.write("the beginning", () => response.destroy());
		},
		"broke off after 0.0 MB of 1.0 MB",
	],
];

test.each(brokenDownloads)(
	"a release that %s is built instead",
	async (_case, answer) => {
		const { env, directory, place, resolve, cached, cacheEntries } = machine();
		const builds = join(directory, "builds");
		fakeGo(place("path"), builds);
		env.TIDEMILL_DOWNLOAD_GITHUB = (await publisher(answer)).url;
		expect(await resolve(unknown)).toBe(cached);
		expect(readFileSync(builds, "utf8")).toBe("built in nats-server\n");
		expect(cacheEntries()).toEqual([cached.split("/").at(-1)]);
	},
);

test.each(brokenDownloads)(
	"without Go, a release that %s is an error with the reason and what to do",
	async (_case, answer, reason) => {
		const { env, resolve, cacheEntries } = machine();
		env.TIDEMILL_DOWNLOAD_GITHUB = (await publisher(answer)).url;
		const error = await resolve(unknown).catch((error: Error) => error.message);
		expect(error).toContain(reason);
		expect(error).toContain("no Go on this machine");
		expect(error).toMatch(/network[\s\S]*install Go[\s\S]*TIDEMILL_BIN/);
		expect(cacheEntries()).toEqual([]);
	},
);

test("without a network and without Go, the error names both", async () => {
	const error = await machine()
		.resolve(unknown)
		.catch((error: Error) => error.message);
	expect(error).toContain("http://127.0.0.1:1 can't be reached");
	expect(error).toContain("no Go on this machine");
});

test("an unreachable site is asked once for all programs", async () => {
	const { env, directory, place } = machine();
	fakeGo(place("path"), join(directory, "builds"));
	const site = await publisher((request) => request.socket.destroy());
	env.TIDEMILL_DOWNLOAD_GITHUB = site.url;
	const digests = new Proxy({}, { get: () => unknown });
	const names = ["nats-server", "etcd", "versitygw"] as const;
	await resolveBinaries([...names], { env, digests }).catch(() => {});
	expect(site.seen).toEqual([archivePath]);
});

test("two simultaneous processes build a program once", async () => {
	const { directory, place, resolve, cached } = machine();
	const builds = join(directory, "builds");
	fakeGo(place("path"), builds);
	expect(await Promise.all([resolve(), resolve()])).toEqual([cached, cached]);
	expect(readFileSync(builds, "utf8")).toBe("built in nats-server\n");
});

test("a failed build reports Go's own words", async () => {
	const { directory, place, resolve } = machine();
	fakeGo(place("path"), join(directory, "builds"), "echo boom >&2; exit 1");
	await expect(resolve()).rejects.toThrow(/go build .*ended with 1: boom/);
});

test("a network failure while Go downloads modules is retried", async () => {
	const { directory, place, resolve, cached } = machine();
	const builds = join(directory, "builds");
	const go = fakeGo(place("path"), builds);
	const text = readFileSync(go, "utf8");
	const failed = join(directory, "failed");
	const once = `[ -e ${failed} ] || { touch ${failed}; echo 502 >&2; exit 1; }`;
	writeFileSync(go, text.replace("list) ", `list) ${once}; `));
	expect(await resolve()).toBe(cached);
	expect(readFileSync(builds, "utf8")).toBe("built in nats-server\n");
});

test("a disk that fills up during a build is named", async () => {
	const { directory, place, resolve } = machine();
	fakeGo(
		place("path"),
		join(directory, "builds"),
		"echo 'go: write /the/cache/a.out: no space left on device' >&2; exit 1",
	);
	await expect(resolve()).rejects.toThrow(
		/disk that holds \/the\/cache\/a.out is full.*TIDEMILL_CACHE/,
	);
});
