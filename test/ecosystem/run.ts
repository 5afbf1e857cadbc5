import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openApiDocument } from "../../api/document/openapi.ts";
import { endpoints } from "../../api/endpoints.ts";
import { withProgress } from "../support/progress.ts";
import { startLocalMode } from "../support/servers/local-mode.ts";
import { makeGoClient } from "./go/client.ts";
import { outputOf } from "./program.ts";
import { makePythonClient } from "./python/client.ts";
import type { MakeClient, QuickStart } from "./quick-start.ts";
import { makeTypescriptClient } from "./typescript/client.ts";

/*
 * `make test-ecosystem`: clients that common generators make of the OpenAPI document. Each is compiled, and does the quick start
 * with a local Tidemill. Arguments: some of their names, in place of all. What is installed for it stays in the cache. Needs
 * Python 3 and Go.
 */
const clients: Record<string, MakeClient> = {
	typescript: makeTypescriptClient,
	python: makePythonClient,
	go: makeGoClient,
};

/** What each quick start prints once it has done all: how the Run ended, its rows, and the code of an error. */
const expected = "Succeeded 1 NotFound";

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !Object.hasOwn(clients, name));
if (unknown.length > 0)
	throw new Error(
		`There is no client ${unknown.join(" or ")}. There are: ${Object.keys(clients).join(", ")}`,
	);
const folder = await mkdtemp(join(tmpdir(), "tidemill-ecosystem-"));
const failures: string[] = [];
try {
	const document = join(folder, "openapi.json");
	await writeFile(document, JSON.stringify(openApiDocument(endpoints)));
	const made: [string, QuickStart][] = [];
	for (const [name, make] of Object.entries(clients))
		if (wanted.length === 0 || wanted.includes(name))
			await attempt(name, "compiles", async () => {
				const own = join(folder, name);
				await mkdir(own);
				made.push([name, await make(document, own)]);
			});
	if (made.length > 0) await tryAll(made);
} finally {
	await rm(folder, { recursive: true, force: true });
}
process.exitCode = failures.length > 0 ? 1 : 0;

async function tryAll(made: [string, QuickStart][]): Promise<void> {
	const local = await startLocalMode();
	try {
		const access = await openAccount(join(local.home, "env"));
		for (const [name, { command, env }] of made)
			await attempt(name, "does the quick start", async () => {
				const [program = "", ...args] = command;
				const said = await outputOf(program, args, {
					env: { ...access, ...env },
				});
				if (said.trim() !== expected)
					throw new Error(`it printed ${said.trim()}, not ${expected}`);
			});
	} finally {
		await local.stop();
	}
}

/** Where a local Tidemill's API is, and the token of an editor of an account. @param exports the file for a person's shell. */
async function openAccount(exports: string): Promise<Record<string, string>> {
	const shell = (command: string) =>
		outputOf("sh", ["-ec", `. "$0"; ${command}`, exports]);
	await shell(`kubectl create namespace shop
		kubectl create serviceaccount editor --namespace=shop
		kubectl create rolebinding editor --namespace=shop --clusterrole=tidemill-editor --serviceaccount=shop:editor`);
	const token = await shell("kubectl create token editor --namespace=shop");
	return {
		TIDEMILL_API_URL: await shell('printf %s "$TIDEMILL_API_URL"'),
		TIDEMILL_API_TOKEN: token.trim(),
	};
}

async function attempt(
	client: string,
	what: string,
	work: () => Promise<void>,
): Promise<void> {
	const startMs = performance.now();
	try {
		await withProgress(`${client}: ${what}`, work());
		const seconds = (performance.now() - startMs) / 1_000;
		console.log(`✓ ${client}: ${what} (${seconds.toFixed(0)} s)`);
	} catch (error) {
		failures.push(client);
		console.log(`✗ ${client}: ${what}: ${(error as Error).message}`);
	}
}
