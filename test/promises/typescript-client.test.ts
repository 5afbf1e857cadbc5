import { copyFileSync, globSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { outputOf } from "../ecosystem/program.ts";
import { npmPackages } from "../ecosystem/typescript/npm-packages.ts";
import { openLocalMode } from "../support/servers/local-mode.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

const root = join(import.meta.dirname, "../..");
const client = join(root, "clients/typescript");
const program = "quick-start.mjs";
/** A project of somebody who has the client from its package alone. */
let project: string;

beforeAll(async () => {
	await outputOf("make", ["-C", root, "clients"]);
	project = await temporaryDirectory("typescript-client");
	const [packed] = JSON.parse(
		await outputOf("npm", [
			...["pack", client, "--json", "--pack-destination", project],
		]),
	);
	await outputOf("npm", [
		...["install", "--offline", "--no-audit", "--prefix", project],
		join(project, packed.filename),
	]);
	copyFileSync(
		join(import.meta.dirname, "typescript-client", program),
		join(project, program),
	);
});

test("the TypeScript client does the quick start from its package, with the oldest Node that it promises", async () => {
	const version = "20.20.2";
	const name = `node-${process.platform}-${process.arch}`;
	const modules = await npmPackages(`node-${version}`, [`${name}@${version}`]);
	const local = await openLocalMode("typescript-client");
	await local.run("kubectl", "create", "serviceaccount", "editor");
	await local.run(
		"kubectl",
		"create",
		"rolebinding",
		"editor",
		"--clusterrole=tidemill-editor",
		"--serviceaccount=typescript-client:editor",
	);
	const token = await local.run("kubectl", "create", "token", "editor");
	const printed = await local.run(
		"env",
		`TIDEMILL_API_TOKEN=${token}`,
		join(modules, name, "bin/node"),
		join(project, program),
	);
	expect(JSON.parse(printed)).toEqual({
		hasURL: true,
		isOneRun: true,
		status: "Succeeded",
		rows: 1,
		listed: [true],
		missing: "NotFound",
		invalid: ["type"],
		isFailure: false,
		node: "v20",
	});
});

test("what a page loads of the TypeScript client is at most 30 KB", () => {
	const dist = join(project, "node_modules/@tidemill/client/dist");
	const files = globSync("**/*.js", { cwd: dist });
	expect(files.length).toBeGreaterThan(4);
	const bytes = files.map((file) => statSync(join(dist, file)).size);
	expect(bytes.reduce((sum, size) => sum + size)).toBeLessThan(30_000);
});
