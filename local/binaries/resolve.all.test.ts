// In make test: local/binaries/download.test.ts
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import {
	emptyMachine,
	fakeGo,
	program,
	publisher,
	release,
} from "../../test/support/binaries/publisher.ts";
import { cachePath } from "./cache.ts";
import { type Digest, pinnedBinaries } from "./pinned.ts";
import { resolveBinaries } from "./resolve.ts";

const { version } = pinnedBinaries["nats-server"];
const archive = release("nats-server");
/** Of what nobody sends. */
const unknown: Digest = `sha256:${"0".repeat(64)}`;

function machine() {
	const one = emptyMachine();
	const { env } = one;
	return {
		...one,
		/** @param digest the committed one of the release; none when absent. */
		resolve: async (digest?: Digest) => {
			const digests = digest ? { [archive.path]: digest } : {};
			const options = { env, digests };
			return (await resolveBinaries(["nats-server"], options))["nats-server"];
		},
		cached: cachePath("nats-server", env),
	};
}

test("TIDEMILL_BIN comes first, in any version", async () => {
	const { env, place, resolve, cached } = machine();
	mkdirSync(env.TIDEMILL_CACHE!);
	program(cached, version);
	env.TIDEMILL_BIN = place("bin");
	const mine = program(join(env.TIDEMILL_BIN, "nats-server"), "9.9.9");
	expect(await resolve()).toBe(mine);
});

test("a program missing from TIDEMILL_BIN comes from the cache", async () => {
	const { env, place, resolve, cached } = machine();
	env.TIDEMILL_BIN = place("bin");
	mkdirSync(env.TIDEMILL_CACHE!);
	program(cached, version);
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
	program(join(place("path"), "nats-server"), version);
	fakeGo(place("path"), join(directory, "builds"));
	expect(await resolve()).toBe(cached);
});

test("a download with the committed digest is kept for the next time", async () => {
	const { env, resolve, cached, cacheEntries } = machine();
	const site = await publisher((_request, response) =>
		response.end(archive.content),
	);
	env.TIDEMILL_DOWNLOAD_GITHUB = site.url;
	expect(await resolve(archive.digest)).toBe(cached);
	expect(await resolve(archive.digest)).toBe(cached);
	expect(site.seen).toEqual([archive.path]);
	expect(cacheEntries()).toEqual([basename(cached)]);
});

test("a release without a committed digest is not even asked for, but built", async () => {
	const { env, directory, place, resolve, cached } = machine();
	const builds = join(directory, "builds");
	fakeGo(place("path"), builds);
	const site = await publisher((_request, response) =>
		response.end(archive.content),
	);
	env.TIDEMILL_DOWNLOAD_GITHUB = site.url;
	expect(await resolve()).toBe(cached);
	expect(site.seen).toEqual([]);
	expect(readFileSync(builds, "utf8")).toBe("built in nats-server\n");
});

const brokenDownloads: [string, RequestListener, string][] = [
	[
		"is missing",
		(_request, response) => response.writeHead(404).end(),
		"answered 404",
	],
	[
		"is no archive",
		(_request, response) => {
			response.setHeader("content-type", "text/html");
			response.end("<html>Please log in</html>");
		},
		"sent no gzip but text/html",
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
		expect(cacheEntries()).toEqual([basename(cached)]);
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
