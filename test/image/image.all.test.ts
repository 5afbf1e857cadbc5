// On a laptop nothing proves this: an image needs root or a container engine.
import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../local/machine/ports.ts";
import { answersOk } from "../../local/machine/program.ts";
import {
	buildArchive,
	reasonWithoutBuildah,
} from "../../tools/image/buildah.ts";
import { startNats } from "../support/servers/servers.ts";
import {
	startServer,
	temporaryDirectory,
} from "../support/servers/test-server.ts";

/*
 * The image as a release has it: built by the Dockerfile from the files that .dockerignore lets through. What the bundle of a
 * checkout holds has its tests in test/data-plane/image.all.test.ts.
 */

const reason = reasonWithoutBuildah();
if (reason && !process.env.CI)
	console.error(`\n\nTHE IMAGE ISN'T BUILT AND TRIED: ${reason}.\n\n`);
const imageTest = test.skipIf(reason && !process.env.CI);

let folder: string;
let root: string;
beforeAll(async () => {
	if (reason && !process.env.CI) return;
	folder = await temporaryDirectory("built-image");
	root = join(folder, "root");
	const archive = join(folder, "image.tar");
	await buildArchive({
		name: "tidemill.local/tidemill:test",
		buildArguments: { VERSION: "1.2.3" },
		archive,
		say: console.log,
	});
	await unpack(archive);
});
afterAll(() => folder && rm(folder, { recursive: true, force: true }));

interface Description {
	config: Record<"Env" | "Entrypoint", string[]> & {
		User: string;
		Labels: Record<string, string>;
	};
}
let description: Description;

/** https://github.com/moby/docker-image-spec/blob/main/spec.md#combined-image-json--filesystem-changeset-format */
async function unpack(archive: string): Promise<void> {
	const files = join(folder, "files");
	await mkdir(files);
	await mkdir(root);
	execFileSync("tar", ["-xf", archive, "-C", files]);
	const read = async (name: string) =>
		JSON.parse(await readFile(join(files, name), "utf8"));
	const [{ Config, Layers }] = await read("manifest.json");
	description = await read(Config);
	for (const layer of Layers)
		execFileSync("tar", ["-xf", join(files, layer), "-C", root]);
	await rm(files, { recursive: true });
}

/** Alone with the image's files, as the user whom the image names. */
const inImage = () => ({
	command: "chroot",
	options: [`--userspec=${description.config.User}`, root],
	env: Object.fromEntries(
		["PATH=/usr/local/bin", ...description.config.Env].map(
			(line) => line.split("=") as [string, string],
		),
	),
});

function tidemill(...args: string[]) {
	const { command, options, env } = inImage();
	const { Entrypoint } = description.config;
	const { status, stdout, stderr } = spawnSync(
		command,
		[...options, ...Entrypoint, ...args],
		{ encoding: "utf8", env },
	);
	return { status, stdout, stderr };
}

imageTest(
	"the image that the Dockerfile makes runs tidemill and its help",
	() => {
		const { status, stdout, stderr } = tidemill("--help");
		expect(stderr).toBe("");
		expect(status).toBe(0);
		expect(stdout).toMatch(/^ {2}sources\|wsrc {2}/m);
		expect(description.config.User).toBe("1000:1000");
		const { Labels } = description.config;
		expect(Labels["org.opencontainers.image.version"]).toBe("1.2.3");
	},
);

imageTest("a role of the image starts and serves", async () => {
	const nats = await startNats();
	onTestFinished(() => nats.stop());
	const [port, healthPort] = [await freePort(), await freePort()];
	await writeFile(
		join(root, "tmp/seal-key"),
		`${randomBytes(32).toString("base64")}\n`,
		{ mode: 0o644 },
	);
	const { command, options, env } = inImage();
	const receive = await startServer(
		{
			name: "receive",
			command,
			args: [...options, ...description.config.Entrypoint, "receive"],
			env: {
				...env,
				NATS_URL: nats.urlFor("receive"),
				TIDEMILL_SEAL_KEY: "/tmp/seal-key",
				RECEIVE_PORT: String(port),
				HEALTH_PORT: String(healthPort),
			},
			isReady: () => answersOk(`http://127.0.0.1:${healthPort}/healthz`),
			stopTimeoutMs: 30_000,
		},
		await temporaryDirectory("receive-of-image"),
	);
	onTestFinished(() => receive.stop());
	const answer = await fetch(`http://127.0.0.1:${port}/hooks/a/b`, {
		method: "POST",
		body: "{}",
	});
	expect(answer.status).toBe(404);
});

imageTest("the image loads DuckDB with its native library", async () => {
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
