import { join } from "node:path";
import { freePort } from "../../../local/machine/ports.ts";
import { answersOk } from "../../../local/machine/program.ts";
import {
	startServer,
	type TestServer,
	temporaryDirectory,
} from "./test-server.ts";

export interface RoleServer extends TestServer {
	/** Of /readyz and /metrics. */
	healthUrl: string;
}

/** How a role's process is started other than usual. */
export interface RoleOptions {
	/** Root of the code that runs; this repository's unless given. */
	project?: string;
	/** Node's own arguments. */
	nodeArgs?: string[];
	env?: Record<string, string>;
}

/** This repository's root. */
export const project = join(import.meta.dirname, "../../..");

/** Starts a role that serves as a process of its own; settles when it is alive, ready or not. */
export async function startRole(
	role: "receive" | "archive" | "notify" | "operator" | "api",
	options: RoleOptions & {
		name: string;
		/** A temporary folder for its files; goes with it. */
		directory?: string;
	},
): Promise<RoleServer> {
	const { name, env, nodeArgs = [] } = options;
	const directory = options.directory ?? (await temporaryDirectory(name));
	const port = await freePort();
	const healthUrl = `http://127.0.0.1:${port}`;
	const bin = programOf(options.project ?? project);
	const server = await startServer(
		{
			name,
			command: process.execPath,
			args: [...nodeArgs, bin, role],
			env: { ...env, HEALTH_PORT: String(port) },
			isReady: () => answersOk(`${healthUrl}/healthz`),
			stopTimeoutMs: 30_000,
		},
		directory,
	);
	return Object.assign(server, { healthUrl });
}

/** What Node runs as `tidemill`: the bundle of this repository if TEST_PROGRAM names it, else the sources below the root. */
export function programOf(root: string): string {
	const { TEST_PROGRAM: bundled } = process.env;
	return root === project && bundled
		? bundled
		: join(root, "cli/bin/tidemill.ts");
}
