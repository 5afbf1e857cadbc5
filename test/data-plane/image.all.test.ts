// On a laptop nothing proves this: an image needs root or a container engine.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeRootDirectory } from "../../tools/image/root-directory.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

let folder: string;
let root: string;
beforeAll(async () => {
	folder = await temporaryDirectory("image");
	root = join(folder, "image");
	execFileSync("npm", ["run", "console:build"]);
	await writeRootDirectory(root);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const environment = {
	PATH: process.env.PATH,
	RECEIVE_PORT: "0",
	// As the Dockerfile sets it.
	NODE_ENV: "production",
};

/** With these files alone, and without the rights of root where the tests have them. */
function inImage(program: string, ...args: string[]) {
	const [command, ...options] = chroot();
	const { status, stdout, stderr } = spawnSync(
		command,
		[...options, program, ...args],
		{ encoding: "utf8", env: environment },
	);
	return { status, stdout, stderr };
}

/** The same on a terminal, which script(1) makes. */
function onTerminal(...args: string[]): string {
	const command = [...chroot(), "/usr/local/bin/tidemill", ...args].join(" ");
	const { stdout } = spawnSync(
		"script",
		["--quiet", "--command", command, "/dev/null"],
		{ encoding: "utf8", env: environment },
	);
	return stdout;
}

function chroot(): [string, ...string[]] {
	return process.getuid!() === 0
		? ["chroot", "--userspec=1000:1000", root]
		: ["unshare", "--map-root-user", `--root=${root}`];
}

const tidemill = (...args: string[]) =>
	inImage("/usr/local/bin/tidemill", ...args);

test("the image runs tidemill and its help, with the resources' short names", () => {
	const { status, stdout } = tidemill("help");
	expect(status).toBe(0);
	expect(stdout).toMatch(/^ {2}sources\|wsrc {2}/m);
});

test.each([
	["receive", 2, "NATS_URL is not set"],
	["archive", 2, "S3_BUCKET is not set"],
	["operator", 2, "TIDEMILL_RECEIVE_URL is not set"],
	["api", 2, "KUBECONFIG is not set"],
	["notify", 2, "TIDEMILL_SEAL_KEY is not set"],
	["load", 65, "--input <file> is missing"],
	["check", 65, "--input <file> is missing"],
	["sources list", 1, "kubeconfig"],
	["pipelines run daily", 1, "kubeconfig"],
	["tokens create ci --scope read", 1, "kubeconfig"],
	["events send shop --data {}", 1, "kubeconfig"],
	["ledger rebuild", 2, "S3_BUCKET is not set"],
	["ledger verify", 2, "S3_BUCKET is not set"],
])("the image holds all code of tidemill %s", (command, code, message) => {
	const { status, stdout, stderr } = tidemill(...command.split(" "));
	expect(stdout + stderr).toContain(message);
	expect(status).toBe(code);
});

test("no command loads classes for all of Kubernetes' kinds", () => {
	const files = globSync(join(root, "app/*.js"));
	const texts = files.map((file) => readFileSync(file, "utf8"));
	const having = (word: string) => texts.filter((text) => text.includes(word));
	expect(having("KubeConfig")).not.toEqual([]);
	expect(having("V1DeploymentSpec")).toHaveLength(0);
});

test("on a terminal, which would get pretty logs, the image logs JSON", () => {
	const lines = onTerminal("receive").trim().split("\n");
	const isError = (line: string) => line.startsWith("tidemill receive: ");
	expect(lines.filter(isError)).toHaveLength(1);
	for (const line of lines.filter((line) => !isError(line)))
		expect(JSON.parse(line)).toMatchObject({ role: "receive" });
});

test("the image has DuckDB with its native library", async () => {
	const file = join(root, "tmp/warehouse.duckdb");
	const database = await DuckDBInstance.create(file);
	const connection = await database.connect();
	await connection.run("CREATE TABLE numbers AS SELECT 42 AS answer");
	connection.closeSync();
	database.closeSync();
	await chmod(file, 0o666);
	const { stdout, stderr } = tidemill(
		...["sql", "--file", "/tmp/warehouse.duckdb", "--format", "csv"],
		"SELECT answer FROM numbers",
	);
	expect(stderr).toBe("");
	expect(stdout.trim()).toBe("answer\r\n42");
});

test("the image has the thread that compiles tracking plans", async () => {
	const ask = `
		import { Worker } from "node:worker_threads";
		const thread = new Worker("/app/schema-worker.js");
		thread.on("message", ({ bytes }) => { console.log(typeof bytes); process.exit(0); });
		thread.postMessage('{"events":[{"type":"order","schema":{"type":"object"}}]}');`;
	await writeFile(join(root, "tmp/ask.mjs"), ask);
	const answer = inImage("/usr/local/bin/node", "/tmp/ask.mjs");
	expect(answer).toEqual({ status: 0, stdout: "number\n", stderr: "" });
});

test.each(["bin/sh", "usr/bin/env", "usr/local/bin/npm", "usr/bin/apt"])(
	"the image has no %s",
	(path) => expect(existsSync(join(root, path))).toBe(false),
);
