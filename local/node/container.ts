import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { constants } from "node:os";
import { identifyProcess } from "../machine/identity.ts";
import type { ContainerLog, LogStream } from "./container-log.ts";

export interface ProcessSpec {
	command: string;
	args: string[];
	/** The whole environment: nothing is inherited. */
	env: Record<string, string>;
	workingDirectory: string;
	/** Records the process's identity, so that a restarted node can find the process. */
	recordFile: string;
}

export type ProcessEnd =
	/** After a signal, `exitCode` is 128 + the signal's number. */
	| { exitCode: number; signal?: number }
	/** The process couldn't start, and why. */
	| { startError: string };

/** A container as a child process. Its own process group makes everything that it starts end with it. */
export class ContainerProcess {
	readonly #child: ChildProcess;
	/** Settles when the process has ended and the log holds all its output and is closed. */
	readonly ended: Promise<ProcessEnd>;

	/** Throws when the process can't be started or recorded. Then none runs. */
	constructor(spec: ProcessSpec, log: ContainerLog) {
		this.#child = spawn(spec.command, spec.args, {
			env: spec.env,
			cwd: spec.workingDirectory,
			stdio: ["ignore", "pipe", "pipe"],
			detached: true,
		});
		this.#record(spec.recordFile);
		for (const stream of ["stdout", "stderr"] as const) this.#keep(stream, log);
		this.ended = this.#end().then((end) => {
			log.close(Date.now());
			return end;
		});
	}

	get pid(): number | undefined {
		return this.#child.pid;
	}

	/** Sends SIGTERM, as kubelet does to a container's first process. */
	terminate(): void {
		this.#child.kill("SIGTERM");
	}

	/** Kills the process and everything that it started. */
	kill(): void {
		const { pid, exitCode, signalCode } = this.#child;
		if (pid !== undefined && exitCode === null && signalCode === null)
			killGroup(pid);
	}

	#record(file: string): void {
		const { pid } = this.#child;
		if (pid === undefined) return;
		try {
			writeFileSync(file, JSON.stringify(identifyProcess(pid) ?? null));
		} catch (error) {
			killGroup(pid);
			throw error;
		}
	}

	#keep(stream: LogStream, log: ContainerLog): void {
		this.#child[stream]?.on("data", (bytes: Buffer) =>
			log.append(stream, bytes, Date.now()),
		);
	}

	#end(): Promise<ProcessEnd> {
		return new Promise((resolve) => {
			this.#child.on("error", (error) => {
				// Also emitted when a signal can't be sent, but then the process has a pid.
				if (this.#child.pid === undefined)
					resolve({ startError: error.message });
			});
			// Processes that it left behind would hold its output open and outlive it.
			this.#child.on("exit", () => killGroup(this.#child.pid!));
			this.#child.on("close", (code, name) => {
				const signal = name ? constants.signals[name] : undefined;
				resolve(
					signal === undefined
						? { exitCode: code ?? 1 }
						: { exitCode: 128 + signal, signal },
				);
			});
		});
	}
}

/** Kills a process group, which may already be gone (macOS reports that as EPERM). */
export function killGroup(pid: number): void {
	try {
		process.kill(-pid, "SIGKILL");
	} catch (error) {
		const code = (error as NodeJS.ErrnoException).code ?? "";
		if (!["ESRCH", "EPERM"].includes(code)) throw error;
	}
}
