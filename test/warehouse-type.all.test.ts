// In make test: tools/generate/main.test.ts
import { execFile } from "node:child_process";
import {
	appendFile,
	cp,
	mkdir,
	readFile,
	symlink,
	writeFile,
} from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { warehouses } from "../packages/warehouses/registry.ts";
import { temporaryDirectory } from "./support/servers/test-server.ts";

const root = join(import.meta.dirname, "..");
const run = promisify(execFile);

/** A type of warehouse that does nothing: all that somebody writes, beside its line in the list. */
const folder: Record<string, string> = {
	"crd.yaml": `nothing:
  description: A warehouse that forgets.
  type: object
  properties:
    motto:
      description: What it says.
      type: string
      maxLength: 20
`,
	"accepted.yaml": `apiVersion: tidemill.dev/v1alpha1
kind: Destination
metadata: { name: nothing }
spec: { type: Nothing, nothing: { motto: "Gone." } }
`,
	"docs.md": "# Nothing\n\nIt forgets [at once](../../../docs/reload.md).\n",
	"definition.ts": `import type { WarehouseDefinition } from "../definition/definition.ts";
import type { NothingSpec } from "../generated/specs.ts";

export const definition = {
	member: "nothing",
	noun: "nothing at all",
	inputTexts: ["motto"],
	takesDaysOneByOne: false,
	writeLock: (_, table) => table,
	schemaOf: () => ({ schema: "main" }),
	cli: {
		flags: "--nothing <motto>",
		about: "a warehouse that forgets",
		example: "--nothing gone",
		specOf: (motto) => ({ motto }),
		answer: "a motto",
		answers: /^gone$/,
	},
	form: {
		title: "a hole",
		fields: { motto: { label: "Motto" } },
		place: ({ motto }) => [motto],
	},
	errors: { Forgotten: { retryable: false, advice: "Remember it yourself." } },
} satisfies WarehouseDefinition<NothingSpec>;
`,
	"load/warehouse.ts": `import type { WarehouseModule } from "../../load/warehouse.ts";

export const open: WarehouseModule["open"] = () => ({
	async requireUsable() {},
	async typesOf() {
		return undefined;
	},
	rowAccess() {
		throw new Error("It has no rows");
	},
	async load() {},
	async check() {},
});
`,
};
const line =
	'export { definition as Nothing } from "./nothing/definition.ts";\n';

/** What the copy's program does with the type. */
const probe = `import { apiResources } from "./api/resources/api-resource.ts";
import { specOf } from "./cli/destinations.ts";
import { validateSpec } from "./test/support/manifests/spec-validator.ts";
import { parseCheckInput } from "./ingest/job/process.ts";
import { openWarehouse } from "./ingest/load/generated/warehouses.ts";
import { decide } from "./operator/destination/decide.ts";
import { destinationWith, now, stateWith } from "./test/support/examples/destination-examples.ts";

const spec = specOf({ nothing: "gone" });
const destination = destinationWith(undefined, spec);
const [start] = decide(stateWith({ destination }), now).filter(({ type }) => type === "startJob");
const input = Buffer.from(start.job.secret.data["input.json"], "base64").toString();
const checked = parseCheckInput(input);
await (await openWarehouse(checked.destination, {})).check();
console.log(JSON.stringify({
	spec,
	problems: validateSpec("Destination", spec),
	input: checked.destination,
	filter: apiResources.find(({ noun }) => noun === "destination").filters.type.values,
}));
`;

let copy: string;

beforeAll(async () => {
	copy = join(await temporaryDirectory("warehouse-type"), "repository");
	const hidden = ["node_modules", ".git", ".tidemill", "corpus", "coverage"];
	// Tests beside this one write the folders, and the file is about one of them.
	const written = [
		"clients/typescript",
		"docs/.vitepress/dist",
		"tools/generate/typescript-client.test.ts",
	];
	await cp(root, copy, {
		recursive: true,
		filter: (path) =>
			!hidden.includes(basename(path)) &&
			!written.includes(relative(root, path)),
	});
	await symlink(join(root, "node_modules"), join(copy, "node_modules"));
	for (const [file, text] of Object.entries(folder)) {
		const path = join(copy, "packages/warehouses/nothing", file);
		await mkdir(dirname(path), { recursive: true });
		await writeFile(path, text);
	}
	await appendFile(join(copy, "packages/warehouses/types.ts"), line);
	for (const script of ["crds", "code", "main"])
		await run(process.execPath, [`tools/generate/${script}.ts`], { cwd: copy });
});

test("a new type of warehouse is its own folder and one line: every program knows it then", async () => {
	await writeFile(join(copy, "probe.ts"), probe);
	const { stdout } = await run(process.execPath, ["probe.ts"], { cwd: copy });
	expect(JSON.parse(stdout)).toEqual({
		spec: { type: "Nothing", nothing: { motto: "gone" } },
		problems: [],
		input: { type: "Nothing", motto: "gone" },
		filter: [...warehouses.keys(), "Nothing"].toSorted(),
	});
});

test("its part of the CRD, its errors and its page stand where people look", async () => {
	const textOf = (file: string) => readFile(join(copy, file), "utf8");
	const crd = await textOf("charts/tidemill/files/crds/destinations.yaml");
	expect(crd).toContain(
		`enum: [${[...warehouses.keys(), "Nothing"].toSorted().join(", ")}]\n`,
	);
	expect(crd).toContain("(self.type == 'Nothing') == has(self.nothing)");
	expect(crd).toContain("A warehouse that forgets.");
	expect(await textOf("docs/reference/errors.md")).toContain("`Forgotten`");
	expect(await textOf(`docs/${"nothing"}.md`)).toContain(
		"[at once](reload.md)",
	);
});

test("its types are those of its CRD, and nothing else needs a change to compile", async () => {
	const tsc = join(root, "node_modules/.bin/tsc");
	await writeFile(join(copy, "probe.ts"), "export {};\n");
	const { stdout } = await run(tsc, ["--checkers", "1"], { cwd: copy }).catch(
		(error) => error as { stdout: string },
	);
	expect(stdout).toBe("");
});
