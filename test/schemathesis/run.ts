import { spawn } from "node:child_process";
import { join } from "node:path";
import { startValidatedApi } from "../support/fixtures/control-plane/validated-api.ts";
import { pythonEnvironment } from "../support/servers/python.ts";

/*
 * `make schemathesis`: requests made from the OpenAPI document, and answers validated by it, against the real apiserver with
 * RBAC on (https://schemathesis.readthedocs.io). What is installed for it stays in the cache. Further arguments are
 * handed on to schemathesis.
 */
const version = "4.32.5";

process.env.LOG_LEVEL ??= "error";
const bin = await pythonEnvironment(`schemathesis-${version}`, [
	`schemathesis==${version}`,
]);
const api = await startValidatedApi("fuzz");
try {
	process.exitCode = await fuzz(api);
} finally {
	await api.stop();
}
// Connections to servers that are gone.
process.exit();

async function fuzz({ url, token, account }: typeof api) {
	return done(join(bin, "schemathesis"), [
		...["--config-file", join(import.meta.dirname, "schemathesis.toml")],
		...["run", `${url}/v1/openapi.json`, "--checks=all"],
		...["--header", `Authorization: Bearer ${token}`],
		// Any other would make every answer a 403.
		...["--header", `Tidemill-Account: ${account}`],
		...process.argv.slice(2),
	]);
}

function done(command: string, args: string[]): Promise<number> {
	return new Promise((resolve, reject) => {
		const child = spawn(command, args, {
			stdio: "inherit",
			env: {
				...process.env,
				SCHEMATHESIS_HOOKS: join(import.meta.dirname, "hooks.py"),
			},
		});
		child.once("error", reject);
		child.once("close", (code) => resolve(code ?? 1));
	});
}
