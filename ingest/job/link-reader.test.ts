import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text as readText } from "node:stream/consumers";
import { promisify } from "node:util";
import pino from "pino";
import { expect, onTestFinished, test } from "vitest";
import type { JobResult } from "../../packages/contracts/job.ts";
import { LinkReader } from "./link-reader.ts";
import { storeReport, storeResult } from "./manifest.ts";

const log = pino({ level: "silent" });
const { signal } = new AbortController();
const result: JobResult = {
	version: 1,
	outcome: "Succeeded",
	rows: 1,
	bytes: 1,
	objects: 1,
};

/** A store that keeps what is put, and answers each PUT with this status. */
async function startStore(status = 200, location = "") {
	const puts: { url: string; length: string; text: string }[] = [];
	const server = createServer(async (request, response) => {
		// Whoever puts may give up in the middle.
		const text = await readText(request).catch(() => undefined);
		if (text === undefined) return;
		const { url = "", headers } = request;
		if (request.method === "PUT")
			puts.push({ url, length: headers["content-length"] ?? "", text });
		response.writeHead(request.method === "PUT" ? status : 200, { location });
		response.end("content");
	}).listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	const { port } = server.address() as AddressInfo;
	return { puts, url: `http://127.0.0.1:${port}` };
}

test("a result is put with the length that its link is for", async () => {
	const { puts, url } = await startStore();
	await storeResult({ url: `${url}/result`, headers: {} }, result, log);
	expect(puts).toEqual([
		{ url: "/result", length: "4096", text: expect.any(String) },
	]);
	expect(JSON.parse(puts[0]!.text)).toEqual(result);
});

test("what is put follows no redirect", async () => {
	const elsewhere = await startStore();
	const { puts, url } = await startStore(307, elsewhere.url);
	const stopped = AbortSignal.timeout(500);
	const link = { url: `${url}/report`, headers: {} };
	await expect(
		storeReport(link, "{}", { log, signal: stopped }),
	).rejects.toThrow();
	expect(puts.length).toBeGreaterThan(0);
	expect(elsewhere.puts).toEqual([]);
});

test("a link gives its content, and no message has the link of one that can't be read", async () => {
	const { url } = await startStore();
	const links = new LinkReader(log, signal, 1);
	const link = { name: "it", unavailable: "ManifestUnavailable" } as const;
	const read = (url: string) =>
		links.read({ ...link, url }, async (content) =>
			Buffer.concat(await Array.fromAsync(content)).toString(),
		);
	expect(await read(`${url}/it`)).toBe("content");
	await expect(read("http://127.0.0.1:1/secret")).rejects.toThrow(
		/^(?!.*secret).*ECONNREFUSED/,
	);
});

test("a Run's process reads and puts links without loading all of fetch", async () => {
	const { puts, url } = await startStore();
	const here = (file: string) =>
		JSON.stringify(new URL(file, import.meta.url).href);
	const script = `
		// The command line, which starts each Job, knows what an apiserver refuses.
		await import(${here("../../packages/kube/client/client.ts")});
		const { LinkReader } = await import(${here("./link-reader.ts")});
		const { storeResult } = await import(${here("./manifest.ts")});
		const log = { warn() {} };
		const links = new LinkReader(log, new AbortController().signal);
		await links.read({ name: "it", url: ${JSON.stringify(url)} }, Array.fromAsync);
		await storeResult({ url: ${JSON.stringify(url)}, headers: {} }, ${JSON.stringify(result)}, log);
		const loaded = process.moduleLoadList.filter((name) => /undici/.test(name));
		console.log(JSON.stringify(loaded));
	`;
	const { stdout } = await promisify(execFile)(process.execPath, [
		"--input-type=module",
		"-e",
		script,
	]);
	expect(puts).toHaveLength(1);
	expect(JSON.parse(stdout)).toEqual([]);
});
