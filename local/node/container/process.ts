import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { constants } from "node:os";
import { identifyProcess } from "../../process/identity.ts";
import type { ContainerLog, LogStream } from "../log/container-log.ts";

export interface ProcessSpec {
	command: string;
	args: string[];
	/** All of it: nothing is inherited. */
	env: Record<string, string>;
	workingDirectory: string;
	/** Where the process's identity is written down, so that it can be found after the node's sudden death. */
	recordFile: string;
}

export type ProcessEnd =
	/** `exitCode` is 128 + the signal's number for a process that a signal ended. */
	| { exitCode: number; signal?: number }
	/** It couldn't be started, and why. */
	| { startError: string };

/** A container as a child process, in a process group of its own so that what it started ends with it. */
export class ContainerProcess {
	readonly #child: ChildProcess;
	/** Settles when the process has ended and its output is in the log, which is closed by then. */
	readonly ended: Promise<ProcessEnd>;

	/** Throws when the process can't be asked for or written down; then none runs. */
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

	/** Asks the process to end, as kubelet asks a container's first process. */
	terminate(): void {
		this.#child.kill("SIGTERM");
	}

	/** Ends the process and all that it started. */
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
				// Also emitted when a signal can't be sent; then the process has a pid.
				if (this.#child.pid === undefined)
					resolve({ startError: error.message });
			});
			// What it left behind holds its output open, and would outlive it.
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

/** Kills a process group; it may be gone already, for which macOS says EPERM. */
export function killGroup(pid: number): void {
	try {
		process.kill(-pid, "SIGKILL");
	} catch (error) {
		const code = (error as NodeJS.ErrnoException).code ?? "";
		if (!["ESRCH", "EPERM"].includes(code)) throw error;
	}
}
