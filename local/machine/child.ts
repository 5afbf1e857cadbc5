import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { LocalError } from "./errors.ts";
import { identifyProcess, type ProcessIdentity } from "./identity.ts";
import { baseEnvironment, type ChildProgram } from "./program.ts";

/** A running program. */
export interface RunningChild {
	identity: ProcessIdentity;
	/** Settles when the program has ended, with text for people: `exit status 1`, `SIGKILL`. */
	ended: Promise<string>;
	hasEnded(): boolean;
	/** Sends SIGTERM, then SIGKILL after the program's stopTimeoutMs. Settles when the program has ended. */
	stop(): Promise<void>;
	kill(signal: NodeJS.Signals): Promise<void>;
}

/** Starts a program. Throws a LocalError when that fails. */
export async function startChild(
	program: ChildProgram,
	options: {
		/** Receives both outputs. A file, because a pipe would break when the supervisor dies. */
		logFile: string;
		/** Its own process group: Ctrl-C reaches only the supervisor, which stops all programs in order. */
		ownGroup: boolean;
	},
): Promise<RunningChild> {
	mkdirSync(dirname(options.logFile), { recursive: true });
	const log = openSync(options.logFile, "a", 0o600);
	const child = spawn(program.command, program.args, {
		env: { ...baseEnvironment(), ...program.env, ...program.currentEnv?.() },
		stdio: ["ignore", log, log],
		detached: options.ownGroup,
	});
	closeSync(log);
	const ended = new Promise<string>((resolve) => {
		child.on("exit", (code, signal) =>
			resolve(signal ?? `exit status ${code}`),
		);
	});
	await once(child, "spawn").catch(({ message }: Error) => {
		throw new LocalError(`${program.name} can't be started: ${message}`);
	});
	const pid = child.pid!;
	const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
	const kill = async (signal: NodeJS.Signals) => {
		child.kill(signal);
		await ended;
	};
	return {
		// A child that has already ended has no identity, and needs none.
		identity: identifyProcess(pid) ?? { pid, startedAt: "" },
		ended,
		hasEnded,
		kill,
		stop: async () => {
			if (hasEnded()) return;
			child.kill("SIGTERM");
			const timer = setTimeout(
				() => child.kill("SIGKILL"),
				program.stopTimeoutMs,
			);
			await ended;
			clearTimeout(timer);
		},
	};
}

/** Waits until a program is ready. When it ends or takes too long, throws a LocalError with the end of its log. */
export async function untilReady(
	program: ChildProgram,
	child: RunningChild,
	options: { logFile: string; timeoutMs: number },
): Promise<void> {
	const deadline = Date.now() + options.timeoutMs;
	for (;;) {
		if (child.hasEnded())
			throw notReady(program, `ended with ${await child.ended}`, options);
		if (await program.isReady()) return;
		if (Date.now() > deadline)
			throw notReady(
				program,
				`is not ready after ${options.timeoutMs / 1000} s`,
				options,
			);
		await delay(50);
	}
}

function notReady(
	program: ChildProgram,
	what: string,
	{ logFile }: { logFile: string },
): LocalError {
	const lines = readFileSync(logFile, "utf8").trimEnd().split("\n").slice(-12);
	return new LocalError(
		[
			`${program.name} ${what}. The end of its log, ${logFile}:`,
			...lines.map((line) => `  ${line.slice(0, 400)}`),
		].join("\n"),
	);
}
