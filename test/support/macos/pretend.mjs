// `node --import` of this file: Node says that it runs on macOS, and there is no /proc, as there.
import fs from "node:fs";
import Module, { syncBuiltinESMExports } from "node:module";

Object.defineProperty(process, "platform", { value: "darwin" });
for (const [module, names] of [
	[fs, ["readFileSync", "readdirSync", "existsSync", "openSync", "statSync"]],
	[fs.promises, ["readFile", "readdir", "open", "stat"]],
])
	for (const name of names) {
		const real = module[name];
		module[name] = (path, ...rest) => {
			if (!/^\/(proc|sys)\//.test(String(path))) return real(path, ...rest);
			if (name === "existsSync") return false;
			const error = Object.assign(new Error(`ENOENT: ${path}`), {
				code: "ENOENT",
				path,
			});
			if (name.endsWith("Sync")) throw error;
			return Promise.reject(error);
		};
	}
syncBuiltinESMExports();

// The package of DuckDB for the system that this is.
const resolve = Module._resolveFilename;
Module._resolveFilename = (request, ...rest) =>
	resolve(
		request.startsWith("@duckdb/")
			? request.replace("darwin", "linux")
			: request,
		...rest,
	);
