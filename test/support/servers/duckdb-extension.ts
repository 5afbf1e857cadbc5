import { join } from "node:path";
import { done, hasPython, pythonEnvironment } from "./python.ts";

/**
 * The file of DuckDB's extension for S3, of the version of `@duckdb/node-api`: DuckDB's makers publish it on PyPI, too. Undefined
 * where there is no Python.
 */
export async function httpfsExtension(): Promise<string | undefined> {
	if (!(await hasPython())) return undefined;
	const version = "1.5.5";
	const name = "duckdb-extension-httpfs";
	const bin = await pythonEnvironment(`${name}-${version}`, [
		`${name}==${version}`,
	]);
	const found = await done(join(bin, "python"), [
		"-c",
		"import duckdb_extension_httpfs as e, glob, os; print(glob.glob(os.path.dirname(e.__file__) + '/**/*.duckdb_extension', recursive=True)[0])",
	]);
	return found.trim();
}
