// In make test: tools/generate/python-client.test.ts
import { copyFileSync, globSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { npmPackages } from "../ecosystem/typescript/npm-packages.ts";
import {
	projectWithClient,
	quickStartSeen,
} from "../ecosystem/typescript/packed-client.ts";
import { documentedText } from "../support/examples/documented.ts";
import { applyQuickstart } from "../support/senders/quickstart.ts";
import { openLocalMode } from "../support/servers/local-mode.ts";

/** A project of somebody who has the client from its package alone. */
let project: string;

beforeAll(async () => {
	project = await projectWithClient();
	for (const file of ["quick-start.mjs", "node.mjs"])
		copyFileSync(
			join(import.meta.dirname, "typescript-client", file),
			join(project, file),
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
		join(project, "node.mjs"),
	);
	expect(JSON.parse(printed)).toEqual({ ...quickStartSeen, node: "v20" });
});

test("the README's code does what it says, in its order", async () => {
	const local = await openLocalMode("typescript-readme");
	await applyQuickstart(local);
	const code = documentedText("clients/typescript/README.md ts")
		.replace(/"https:.*?"/, "process.env.TIDEMILL_API_URL")
		.replace('name: "shop"', 'name: "another"');
	writeFileSync(
		join(project, "readme.mjs"),
		`const token = process.env.TIDEMILL_API_TOKEN;\n${code}console.log(rows);`,
	);
	const create = "tidemill tokens create readme --scope edit";
	const said = await local.run(
		...["bash", "-euc"],
		`TIDEMILL_API_TOKEN=$(${create}) node "$0/readme.mjs"`,
		project,
	);
	expect(said).toMatch(/^\d+\n$/);
});

test("what a page loads of the TypeScript client is at most 30 KB", () => {
	const dist = join(project, "node_modules/@tidemill/client/dist");
	const files = globSync("**/*.js", { cwd: dist });
	expect(files.length).toBeGreaterThan(4);
	const bytes = files.map((file) => statSync(join(dist, file)).size);
	expect(bytes.reduce((sum, size) => sum + size)).toBeLessThan(30_000);
});
