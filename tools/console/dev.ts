import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadEnvFile } from "node:process";
import { createServer } from "vite";
import { writeConsoleTypes } from "./types.ts";

/** `make console`: the console with hot reload, beside the API of TIDEMILL_API_URL or of the `make up` that runs here. */
const root = join(import.meta.dirname, "../..");
const env = join(process.env.TIDEMILL_HOME ?? join(root, ".tidemill"), "env");
if (!process.env.TIDEMILL_API_URL && existsSync(env)) loadEnvFile(env);
if (!process.env.TIDEMILL_API_URL) {
	console.error(
		"The console needs a running API. Start `make up` in another terminal, or set TIDEMILL_API_URL.",
	);
	process.exit(1);
}
writeConsoleTypes();
const server = await createServer({
	configFile: join(root, "console/vite.config.ts"),
});
await server.listen();
server.printUrls();
