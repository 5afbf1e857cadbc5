// On a laptop nothing proves this: kind needs a container engine.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";

/*
 * The programs are stand-ins, which note how they are called: nothing here says that a cluster comes of it.
 */

/** Answers as the programs do, as far as up.ts reads their answers. */
const standIn = `#!${process.execPath}
const { appendFileSync } = require("node:fs");
const { basename } = require("node:path");
const call = [basename(process.argv[1]), ...process.argv.slice(2)].join(" ");
appendFileSync(process.env.CALLS, call + "\\n");
const failing = process.env.FAILS;
if (failing && call.startsWith(failing)) { console.error("no disk"); process.exit(1); }
if (call === "kind get clusters") console.log(process.env.CLUSTERS ?? "");
if (call.includes("get source/shop")) process.stdout.write(process.env.URL_OF_SOURCE);
if (call.includes(" create --output=name")) console.log("run.tidemill.dev/orders-abcde");
`;

async function kindUp(env: Record<string, string> = {}, missing = "") {
	const directory = await mkdtemp(join(tmpdir(), "tidemill-kind-"));
	onTestFinished(() => rm(directory, { recursive: true, force: true }));
	for (const name of ["docker", "kind", "helm", "kubectl"]) {
		if (name === missing) continue;
		await writeFile(join(directory, name), standIn);
		await chmod(join(directory, name), 0o755);
	}
	const events: string[] = [];
	const receive = createServer(async (request, response) => {
		events.push(await text(request));
		response.end('{"is_success":true,"event_id":"1"}');
	}).listen(0, "127.0.0.1");
	await once(receive, "listening");
	onTestFinished(() => void receive.close());
	const { port } = receive.address() as AddressInfo;
	const calls = join(directory, "calls");
	await writeFile(calls, "");
	const child = spawn(
		process.execPath,
		[join(import.meta.dirname, "kind.ts")],
		{
			env: {
				// Git names the image's labels.
				PATH: `${directory}:/usr/bin:/bin`,
				HOME: directory,
				CALLS: calls,
				URL_OF_SOURCE: `http://127.0.0.1:${port}/hooks/a/b`,
				...env,
			},
		},
	);
	const [stdout, stderr] = await Promise.all([
		text(child.stdout),
		text(child.stderr),
		once(child, "close"),
	]);
	return {
		exitCode: child.exitCode,
		stdout,
		stderr,
		events,
		calls: (await readFile(calls, "utf8")).trim().split("\n"),
	};
}

const step = (call: string) => call.split(" ").slice(0, 3).join(" ");

test("make kind-up makes a cluster, an image and a release, and goes through the quick start", async () => {
	const { exitCode, stdout, stderr, events, calls } = await kindUp();
	expect(exitCode, stderr).toBe(0);
	const done = calls.filter((call) => !/ (version|info)$/.test(call));
	expect(done.map(step)).toEqual([
		"kind get clusters",
		"kind create cluster",
		"docker build --build-arg",
		"kind load docker-image",
		"helm upgrade --install",
		...Array(3).fill("kubectl --context kind-tidemill"),
		...Array(3).fill("kubectl --context kind-tidemill"),
	]);
	expect(done[2]).toContain("--tag localhost/tidemill:kind");
	expect(done[3]).toBe(
		"kind load docker-image localhost/tidemill:kind --name tidemill",
	);
	expect(done[4]).toMatch(
		/^helm upgrade --install tidemill charts\/tidemill .*--namespace tidemill-system .*--wait/,
	);
	expect(events).toEqual(['{"order":1,"item":"Käse"}']);
	expect(done.at(-2)).toContain("run.tidemill.dev/orders-abcde");
	expect(stdout).toContain("make kind-down");
});

test("a cluster that is there is used again", async () => {
	const { exitCode, calls } = await kindUp({ CLUSTERS: "other\ntidemill" });
	expect(exitCode).toBe(0);
	expect(calls.map(step)).not.toContain("kind create cluster");
});

test.each([
	["a program is missing", {}, "helm", "make kind-up needs helm"],
	["Docker is down", { FAILS: "docker info" }, "", "Docker does not answer"],
	[
		"a step fails",
		{ FAILS: "helm upgrade" },
		"",
		"Installing the chart failed",
	],
	[
		"nothing has a URL",
		{ FAILS: "kubectl --context kind-tidemill --namespace default get source" },
		"",
		"no disk",
	],
])("if %s, it stops and says so", async (_, env, missing, words) => {
	const { exitCode, stderr, events } = await kindUp(env, missing);
	expect(exitCode).toBe(1);
	expect(stderr).toContain(words);
	expect(events).toEqual([]);
});
