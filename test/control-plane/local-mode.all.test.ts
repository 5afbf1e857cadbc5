// In make test: local/machine/supervisor.test.ts
import { execFile, spawn } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { join } from "node:path";
import { promisify } from "node:util";
import { connect } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
	isRunning,
	type ProcessIdentity,
} from "../../local/machine/identity.ts";
import { listenersOf } from "../support/servers/listeners.ts";
import {
	sparingGo,
	temporaryDirectory,
} from "../support/servers/test-server.ts";

const project = join(import.meta.dirname, "../..");
const readyTimeoutMs = 240_000;

let home: string;
let current: ReturnType<typeof up>;

beforeAll(async () => {
	home = await temporaryDirectory("home");
	current = up();
	await current.says("Tidemill is ready");
});

afterAll(async () => {
	await make("down");
	await rm(home, { recursive: true, force: true });
});

test("the shell exports reach Kubernetes and the REST API, and are for their owner alone", async () => {
	expect(statSync(join(home, "env")).mode & 0o077).toBe(0);
	expect(current.output()).toContain(`\n  source ${home}/env\n`);
	expect(
		await shell("kubectl auth whoami -o name && kubectl get crds"),
	).toContain("sources.tidemill.dev");
	const status = await shell(
		'curl -s -o /dev/null -w "%{http_code}" -H "Authorization: Bearer $TIDEMILL_API_TOKEN" "$TIDEMILL_API_URL/sources"',
	);
	expect(status).toBe("200");
});

test("the API token is short-lived, starts Runs and changes nothing else, and is not printed", async () => {
	const token = (await shell("echo $TIDEMILL_API_TOKEN")).trim();
	const { iat, exp } = JSON.parse(
		Buffer.from(token.split(".")[1]!, "base64url").toString(),
	);
	expect(exp - iat).toBeLessThanOrEqual(3_600);
	expect(current.output()).not.toContain(token);
	for (const [permission, answer] of [
		["create runs.tidemill.dev", "yes"],
		["get sources.tidemill.dev", "yes"],
		["create sources.tidemill.dev", "no"],
		["create secrets", "no"],
		["get secrets", "no"],
	])
		expect(
			await shell(
				`kubectl auth can-i ${permission} --as=system:serviceaccount:default:tidemill || true`,
			),
		).toBe(`${answer}\n`);
});

/** How each port answers somebody without credentials. */
const strangers: Record<string, (port: number) => Promise<unknown>> = {
	apiserver: async (port) =>
		expect(await statusOf(`https://127.0.0.1:${port}/api/v1/secrets`)).toBe(
			403,
		),
	etcd: async (port) => expect(await handshake(port)).toMatch(/certificate/),
	etcdPeer: async (port) =>
		expect(await handshake(port)).toMatch(/certificate/),
	node: async (port) => expect(await handshake(port)).toMatch(/certificate/),
	nats: (port) =>
		expect(connect({ port, reconnect: false })).rejects.toThrow(
			/authorization/i,
		),
	s3: async (port) =>
		expect(await statusOf(`http://127.0.0.1:${port}/tidemill`)).toBe(403),
	api: async (port) =>
		expect(await statusOf(`http://127.0.0.1:${port}/v1/sources`)).toBe(401),
	// A Source's URL is the credential.
	receive: async (port) =>
		expect(await statusOf(`http://127.0.0.1:${port}/hooks/a/b`, "POST")).toBe(
			404,
		),
	// They answer everybody, and nothing but health and metrics.
	receiveHealth: showsHealth,
	archiveHealth: showsHealth,
	operatorHealth: showsHealth,
	apiHealth: showsHealth,
	notifyHealth: showsHealth,
	nodeHealth: showsHealth,
};

test("it listens on these ports of the loopback and on no others, and they let in no stranger", async () => {
	const { postgres: _, ...ports }: Record<string, number> = JSON.parse(
		read("ports.json"),
	);
	expect(Object.keys(ports).toSorted()).toEqual(
		Object.keys(strangers).toSorted(),
	);
	const pids = [current.process.pid!, ...children().map(({ pid }) => pid)];
	expect(listenersOf(pids)).toEqual(
		Object.values(ports)
			.toSorted((a, b) => a - b)
			.map((port) => ({ address: "127.0.0.1", port })),
	);
	for (const [name, isRefused] of Object.entries(strangers))
		await isRefused(ports[name]!);
});

test("a second start on the same state says that the first is running", async () => {
	const second = up();
	await second.says("already running");
	expect(await second.exitCode).toBe(1);
});

test("a child that was killed is started again, and said so", async () => {
	for (const name of ["nats", "receive"]) {
		process.kill(child(name).pid, "SIGKILL");
		await current.says(`${name} ended with SIGKILL`);
		await current.says(`${name} is ready again`);
	}
});

test("a tunnel's URL becomes that of each Source while Tidemill runs, and who has a stale one is named", async () => {
	await shell("tidemill sources create tunnelled --wait");
	const urlOf = () =>
		shell("kubectl get source tunnelled -o jsonpath={.status.webhookURL}");
	const own = await urlOf();
	const path = new URL(own).pathname;
	const first = await make("change-public-url", "https://one.example/");
	expect(await urlOf()).toBe(`https://one.example${path}`);
	expect(first).toContain("Webhook URLs begin with https://one.example now.");
	expect(first).toContain(
		`default/tunnelled: the provider still has ${own}. Give it https://one.example${path}`,
	);
	await expect(make("change-public-url", "http://one.example")).rejects.toThrow(
		'The public URL "http://one.example" must begin with https://',
	);
	expect(await urlOf()).toBe(`https://one.example${path}`);
	await make("change-public-url", "");
	expect(await urlOf()).toBe(own);
});

test("a start with a public URL that can't be right ends with what would be", async () => {
	const second = up({ TIDEMILL_PUBLIC_URL: "one.example" });
	await second.says('The public URL "one.example" is not a URL');
	expect(await second.exitCode).toBe(1);
});

test("after a supervisor's sudden death the next start removes what it left, and has all data on the same ports", async () => {
	await shell("kubectl create configmap kept --from-literal=a=b");
	const before = { children: children(), ports: read("ports.json") };
	current.process.kill("SIGKILL");
	await current.exitCode;
	expect(before.children.filter(isRunning)).not.toEqual([]);

	current = up();
	await current.says("An earlier Tidemill was killed");
	await current.says("Tidemill is ready");
	expect(before.children.filter(isRunning)).toEqual([]);
	expect(read("ports.json")).toBe(before.ports);
	expect(
		await shell("kubectl get configmap kept -o jsonpath='{.data.a}'"),
	).toBe("b");
});

test("make down stops every child, and a second one says that nothing runs", async () => {
	const running = children();
	expect(running.filter(isRunning)).toHaveLength(running.length);
	expect(await make("down")).toContain("Stopped.");
	expect(running.filter(isRunning)).toEqual([]);
	expect(await current.exitCode).toBe(0);
	expect(await make("down")).toContain("No Tidemill is running");
});

/** The answer's status, or why there is none. Trusts any certificate. */
function statusOf(
	url: string,
	method = "GET",
): Promise<number | string | undefined> {
	const send = url.startsWith("https:") ? httpsRequest : httpRequest;
	return new Promise((resolve) => {
		const request = send(
			url,
			{ method, agent: false, rejectUnauthorized: false },
			(response) => resolve(response.resume().statusCode),
		);
		request.on("error", (error) => resolve(error.message));
		request.end();
	});
}

/** How a server of TLS ends a connection without a client's certificate. */
async function handshake(port: number): Promise<unknown> {
	return statusOf(`https://127.0.0.1:${port}/`);
}

async function showsHealth(port: number): Promise<void> {
	for (const [path, status] of [
		["/healthz", 200],
		["/readyz", 200],
		["/metrics", 200],
		["/", 404],
		["/debug/pprof", 404],
	] as const)
		expect(await statusOf(`http://127.0.0.1:${port}${path}`)).toBe(status);
}

/** Starts the supervisor as `make up` does. */
function up(env: Record<string, string> = {}) {
	const child = spawn(process.execPath, ["local/up.ts"], {
		cwd: project,
		env: {
			...process.env,
			...sparingGo,
			TIDEMILL_HOME: home,
			// From the sources, as a person runs it; other tests run the bundle.
			TIDEMILL_COMMAND: "",
			...env,
		},
		stdio: ["ignore", "pipe", "pipe"],
	});
	let output = "";
	for (const stream of [child.stdout, child.stderr])
		stream.on("data", (chunk: Buffer) => {
			output += chunk;
		});
	return {
		process: child,
		output: () => output,
		exitCode: new Promise<number | null>((resolve) =>
			child.on("exit", (code) => resolve(code)),
		),
		says: (text: string) =>
			vi.waitFor(() => expect(output).toContain(text), {
				timeout: readyTimeoutMs,
				interval: 100,
			}),
	};
}

async function make(
	target: "down" | "change-public-url",
	...args: string[]
): Promise<string> {
	const { stdout } = await promisify(execFile)(
		process.execPath,
		[`local/${target}.ts`, ...args],
		{ cwd: project, env: { ...process.env, TIDEMILL_HOME: home } },
	);
	return stdout;
}

/** Runs a command line in a shell that has sourced the exports. */
async function shell(command: string): Promise<string> {
	const { stdout } = await promisify(execFile)("sh", [
		"-ec",
		`. ${home}/env; ${command}`,
	]);
	return stdout;
}

function children(): (ProcessIdentity & { name: string })[] {
	return JSON.parse(read("children.json"));
}

function child(name: string): ProcessIdentity {
	return children().find((record) => record.name === name)!;
}

function read(file: string): string {
	return readFileSync(join(home, file), "utf8");
}
