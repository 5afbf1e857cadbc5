import { execFile, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { vi } from "vitest";
import { locateHome } from "../../../local/home/home.ts";
import { readState } from "../../../local/home/state-file.ts";
import type { Ports } from "../../../local/ports.ts";
import type { Secrets } from "../../../local/secrets.ts";
import { temporaryDirectory } from "./test-server.ts";

const project = join(import.meta.dirname, "../../..");

/** A whole local Tidemill, as `make up` starts it, with its state in a temporary folder. */
export interface LocalMode {
	/** Its $TIDEMILL_HOME. */
	home: string;
	/** Runs a command as in a shell that has sourced `$TIDEMILL_HOME/env`, and returns what it prints. Throws if it fails. */
	run(command: string, ...args: string[]): Promise<string>;
	/** `kubectl … -o json`, read. */
	resource<T>(...args: string[]): Promise<T>;
	/**
	 * Sends SIGKILL to a child (`receive`, `archive`, `nats`, `s3`, …) and waits until the supervisor has it ready again.
	 * Returns when it died, in milliseconds since the epoch.
	 */
	killAndAwait(name: string): Promise<number>;
	/** Process id of a child as it runs now. */
	pidOf(name: string): number;
	/** Connects to NATS as the user who may do everything. */
	connectNats(): Promise<NatsConnection>;
	/** Stops everything and removes the state. */
	stop(): Promise<void>;
}

/** @param env for its supervisor, beside that of the test. */
export async function startLocalMode(
	env: Record<string, string> = {},
): Promise<LocalMode> {
	const home = await temporaryDirectory("e2e");
	const supervisor = spawn(process.execPath, ["local/up.ts"], {
		cwd: project,
		env: { ...process.env, ...env, TIDEMILL_HOME: home },
		stdio: ["ignore", "pipe", "pipe"],
	});
	const ended = new Promise((resolve) => supervisor.on("exit", resolve));
	let output = "";
	for (const stream of [supervisor.stdout, supervisor.stderr])
		stream.on("data", (chunk: Buffer) => {
			output += chunk;
		});
	const count = (text: string) => output.split(text).length - 1;
	const says = (text: string, times = 1) =>
		vi.waitFor(
			() => {
				if (count(text) >= times) return;
				throw new Error(`local mode has not said "${text}":\n${output}`);
			},
			{ timeout: 240_000, interval: 50 },
		);
	const stop = async () => {
		supervisor.kill("SIGTERM");
		await ended;
		await rm(home, { recursive: true, force: true });
	};
	try {
		await says("Tidemill is ready");
	} catch (error) {
		await stop();
		throw error;
	}
	const run: LocalMode["run"] = async (command, ...args) => {
		const { stdout } = await promisify(execFile)(
			"sh",
			["-ec", '. "$0/env"; exec "$@"', home, command, ...args],
			{ maxBuffer: 1024 ** 3, cwd: project },
		);
		return stdout;
	};
	return {
		home,
		run,
		resource: async (...args) =>
			JSON.parse(await run("kubectl", ...args, "-o", "json")),
		killAndAwait: async (name) => {
			const back = `${name} is ready again`;
			const times = count(back) + 1;
			// It may just be coming back from a death of its own.
			await vi.waitFor(() => process.kill(pidOf(home, name), "SIGKILL"), {
				timeout: 120_000,
			});
			const diedAtMs = Date.now();
			await says(back, times);
			return diedAtMs;
		},
		pidOf: (name) => pidOf(home, name),
		connectNats: () => {
			const { ports, secrets } = locateHome({ TIDEMILL_HOME: home });
			const { nats: port } = readState<Ports>(ports)!;
			const { nats: passwords } = readState<Secrets>(secrets)!;
			return connect({ port, user: "admin", pass: passwords.admin });
		},
		stop,
	};
}

function pidOf(home: string, name: string): number {
	const children = JSON.parse(
		readFileSync(join(home, "children.json"), "utf8"),
	) as { name: string; pid: number }[];
	return children.find((child) => child.name === name)!.pid;
}
