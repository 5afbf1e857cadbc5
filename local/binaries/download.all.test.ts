// In make test: local/binaries/unpack.test.ts
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
	mkdtempSync,
	readdirSync,
	readFileSync,
	statSync,
	writeFileSync,
} from "node:fs";
import type { RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import {
	buildsIn,
	emptyMachine,
	fakeGo,
	publisher,
	release,
	sendPart,
} from "../../test/support/binaries/publisher.ts";
import { ensurePki } from "../servers/pki.ts";
import { cachePath } from "./cache.ts";
import { type Digest, pinnedBinaries } from "./pinned.ts";
import { resolveBinaries } from "./resolve.ts";

const names = ["kube-apiserver", "kube-controller-manager", "kubectl"] as const;
const archive = release(...names);
const unknown: Digest = `sha512:${"0".repeat(128)}`;

/** A machine with a fake Go, on which the site that `answer` plays has Kubernetes' servers. */
async function machine(answer: RequestListener) {
	const one = emptyMachine();
	const { env } = one;
	const site = await publisher(answer);
	env.TIDEMILL_DOWNLOAD_KUBERNETES = site.url;
	const builds = join(one.directory, "builds");
	fakeGo(one.place("path"), builds);
	const said: string[] = [];
	const warned: string[] = [];
	return {
		...one,
		site,
		said,
		warned,
		builds: () => buildsIn(builds),
		resolve: (digests = archive.digests) =>
			resolveBinaries([...names], {
				env,
				digests,
				olderPatches: true,
				say: (text) => said.push(text),
				warn: (text) => warned.push(text),
			}),
		downloaded: names.map((name) => {
			const { os, arch } = { os: process.platform, arch: process.arch };
			const { version } = pinnedBinaries[name].release({ os, arch })!;
			return basename(cachePath(name, env, version));
		}),
		built: names.map((name) => basename(cachePath(name, env))),
	};
}

test("one archive gives three servers, and a digest is asked of the file as it is", async () => {
	const one = await machine((request, response) =>
		sendPart(archive.content, request, response),
	);
	const paths = await one.resolve();
	expect(await one.resolve()).toEqual(paths);
	expect(Object.values(paths).map((path) => basename(path))).toEqual(
		one.downloaded,
	);
	expect(one.site.seen).toEqual([archive.path]);
	expect(one.site.requests[0]!.headers["accept-encoding"]).toBe("identity");
	expect(one.cacheEntries()).toEqual(one.downloaded);
	expect(one.builds() + one.said + one.warned).toBe("");
});

test("tests, which need the built version, don't take an older patch", async () => {
	const one = await machine((request, response) =>
		sendPart(archive.content, request, response),
	);
	await one.resolve();
	const { env, digests } = { env: one.env, digests: archive.digests };
	const { kubectl } = await resolveBinaries(["kubectl"], { env, digests });
	expect(basename(kubectl)).toBe(basename(cachePath("kubectl", env)));
});

test("until the whole archive has come, nobody may run its programs, and they aren't in the cache", async () => {
	const { promise, resolve: sendEnd } = Promise.withResolvers<void>();
	const one = await machine((_request, response) => {
		response.write(archive.content.subarray(0, -1));
		void promise.then(() => response.end(archive.content.subarray(-1)));
	});
	const resolved = one.resolve();
	const directory = one.env.TIDEMILL_CACHE!;
	const modes = await vi.waitFor(
		() => {
			const [unfinished] = readdirSync(directory).filter((entry) =>
				entry.startsWith("unfinished-"),
			);
			const files = readdirSync(join(directory, unfinished!));
			expect(files).toHaveLength(3);
			return files.map(
				(file) => statSync(join(directory, unfinished!, file)).mode & 0o777,
			);
		},
		{ timeout: 60_000 },
	);
	expect(modes).toEqual([0o600, 0o600, 0o600]);
	expect(
		one.downloaded.filter((file) => one.cacheEntries().includes(file)),
	).toEqual([]);
	sendEnd();
	await resolved;
	expect(one.cacheEntries()).toEqual(one.downloaded);
});

test.each([
	["of a release that the site has changed", archive.content],
	[
		"with more behind its end",
		Buffer.concat([archive.content, Buffer.from("more")]),
	],
])(
	"an archive %s is discarded, built and told, and CI ends",
	async (_case, content) => {
		const one = await machine((_request, response) => response.end(content));
		const digests = { [archive.path]: unknown };
		await one.resolve(digests);
		expect(one.cacheEntries()).toEqual(one.built);
		expect(one.builds()).toBe("built in kubernetes\n");
		expect(one.warned).toHaveLength(1);
		expect(one.warned[0]).toContain(`${one.site.url}${archive.path} is not`);
		expect(one.warned[0]).toContain(unknown);
		expect(one.warned[0]).toMatch(/came +sha512:[0-9a-f]{128}/);
		expect(one.said).toHaveLength(1);
		const inCI = await machine((_request, response) => response.end(content));
		inCI.env.CI = "true";
		await expect(inCI.resolve(digests)).rejects.toThrow(unknown);
		expect(inCI.cacheEntries()).toEqual([]);
	},
);

const html: RequestListener = (_request, response) => {
	response.setHeader("content-type", "text/html");
	response.end("<html>Please log in</html>");
};

test.each<[string, RequestListener, string]>([
	[
		"404",
		(_request, response) => response.writeHead(404).end(),
		"answered 404",
	],
	[
		"500",
		(_request, response) => response.writeHead(500).end("?"),
		"answered 500",
	],
	["a portal's page", html, "sent no gzip but text/html"],
	["silence", () => {}, "no answer in 5 s"],
	[
		"another encoding",
		(_request, response) =>
			response
				.writeHead(200, { "content-encoding": "gzip" })
				.end(archive.content),
		"came with the encoding gzip",
	],
	[
		"a megabyte a minute",
		(_request, response) => {
			response.writeHead(200, { "content-length": 400_000_000 });
			let at = 0;
			const timer = setInterval(() => {
				response.write(archive.content.subarray(at, at + 5));
				at += 5;
			}, 400);
			response.on("close", () => clearInterval(timer));
		},
		"/s, ",
	],
])("at %s the servers are built, with one line", async (_case, answer, why) => {
	const one = await machine(answer);
	await one.resolve();
	expect(one.builds()).toBe("built in kubernetes\n");
	expect(one.said).toHaveLength(1);
	expect(one.said[0]).toContain(why);
	expect(one.said[0]).toContain("Building kube-apiserver, ");
	expect(one.warned).toEqual([]);
	expect(one.site.seen).toHaveLength(1);
	expect(one.cacheEntries()).toEqual(one.built);
});

test("what is cut goes on where it was, three times", async () => {
	const part = Math.floor(archive.content.length / 5);
	let sent = 0;
	const one = await machine((request, response) => {
		sent += part;
		const until = sent > 3.5 * part ? undefined : sent;
		sendPart(archive.content, request, response, until);
	});
	await one.resolve();
	expect(one.site.ranges).toEqual([
		undefined,
		`bytes=${part}-`,
		`bytes=${2 * part}-`,
		`bytes=${3 * part}-`,
	]);
	expect(one.cacheEntries()).toEqual(one.downloaded);
});

test("what is cut a fourth time is built", async () => {
	const one = await machine((request, response) =>
		sendPart(archive.content, request, response, 10),
	);
	await one.resolve();
	expect(one.site.seen).toHaveLength(4);
	expect(one.said[0]).toContain("broke off after 0.0 MB of 0.0 MB");
	expect(one.cacheEntries()).toEqual(one.built);
});

/** Resolves in a process of its own, and prints where the servers are. */
const script = `
	import { resolveBinaries } from ${JSON.stringify(join(import.meta.dirname, "resolve.ts"))};
	const digests = JSON.parse(process.env.DIGESTS);
	console.log(Object.values(await resolveBinaries(${JSON.stringify(names)}, { digests, olderPatches: true, say: console.error })).join("\\n"));
`;

function inProcess(env: NodeJS.ProcessEnv) {
	return promisify(execFile)(
		process.execPath,
		["--input-type=module", "-e", script],
		{
			env: { ...env, DIGESTS: JSON.stringify(archive.digests) },
		},
	);
}

test("a redirect, a proxy and a company's authority are followed to a mirror", async () => {
	const pki = await ensurePki(mkdtempSync(join(tmpdir(), "tidemill-pki-")));
	const { cert, key } = pki.apiserver;
	const secure = createSecureServer({ cert, key }, (request, response) => {
		if (request.url === `/mirror${archive.path}`)
			response.writeHead(302, { location: "/elsewhere" }).end();
		else sendPart(archive.content, request, response);
	});
	secure.listen(0, "127.0.0.1");
	await once(secure, "listening");
	const { port } = secure.address() as AddressInfo;
	const proxied: string[] = [];
	// RFC 9110 §9.3.6
	const proxy = await publisher(() => {});
	proxy.server.on("connect", (request, socket) => {
		proxied.push(request.url!);
		const onward = connect(port, "127.0.0.1", () => {
			socket.write("HTTP/1.1 200 OK\r\n\r\n");
			onward.pipe(socket).pipe(onward);
		});
	});
	onTestFinished(() => {
		secure.closeAllConnections();
		secure.close();
	});
	const one = emptyMachine();
	const authority = join(one.directory, "ca.pem");
	writeFileSync(authority, readFileSync(pki.ca.certFile));
	const { stdout } = await inProcess({
		...one.env,
		TIDEMILL_DOWNLOAD_KUBERNETES: `https://localhost:${port}/mirror`,
		HTTPS_PROXY: proxy.url,
		NODE_EXTRA_CA_CERTS: authority,
	});
	expect(stdout.trim().split("\n")).toHaveLength(3);
	expect(one.cacheEntries()).toHaveLength(3);
	expect(proxied).toContain(`localhost:${port}`);
});

test("of a start that was killed nothing stays", async () => {
	let isFirst = true;
	const one = await machine((request, response) => {
		if (isFirst) response.write(archive.content.subarray(0, -1));
		else sendPart(archive.content, request, response);
		isFirst = false;
	});
	const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
		env: { ...one.env, DIGESTS: JSON.stringify(archive.digests) },
		stdio: "ignore",
	});
	await vi.waitFor(
		() =>
			expect(
				one.cacheEntries().filter((entry) => entry.endsWith(".download")),
			).toHaveLength(3),
		{ timeout: 60_000 },
	);
	child.kill("SIGKILL");
	await once(child, "exit");
	await one.resolve();
	expect(one.cacheEntries()).toEqual(one.downloaded);
	expect(one.site.seen).toHaveLength(2);
});
