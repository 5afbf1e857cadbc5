import { cp, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { outputOf } from "../program.ts";
import type { MakeClient } from "../quick-start.ts";
import { npmPackages } from "./npm-packages.ts";

const root = join(import.meta.dirname, "../../..");
const versions = { "openapi-typescript": "7.13.0", "openapi-fetch": "0.17.0" };

/** openapi-typescript's types, and its makers' client for them. */
export const makeTypescriptClient: MakeClient = async (document, folder) => {
	const packages = Object.entries(versions).map(
		([name, version]) => `${name}@${version}`,
	);
	const name = packages.join("-").replaceAll("@", "");
	const modules = await npmPackages(name, packages);
	await symlink(modules, join(folder, "node_modules"));
	const program = join(folder, "quick-start.mts");
	await cp(join(import.meta.dirname, "quick-start.mts"), program);
	const generator = join(modules, "openapi-typescript/bin/cli.js");
	await outputOf(process.execPath, [
		...[generator, document, "--output", join(folder, "schema.d.mts")],
	]);
	const compilerOptions = {
		...{ noEmit: true, strict: true, target: "esnext", module: "nodenext" },
		...{ types: ["node"], typeRoots: [join(root, "node_modules/@types")] },
	};
	const config = { compilerOptions, files: [program] };
	await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
	await outputOf(process.execPath, [
		...[join(root, "node_modules/typescript/bin/tsc"), "--project", folder],
	]);
	return { command: [process.execPath, program] };
};
