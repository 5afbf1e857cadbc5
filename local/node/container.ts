import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { constants } from "node:os";
import { identifyProcess } from "../machine/identity.ts";
import {
	type ContainerLog,
	type LogStream,
	parseRecord,
} from "./container-log.ts";

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

/** The state of one container, before its translation to Kubernetes' terms. */
export type ContainerState =
	| { phase: "waiting"; reason: string; message?: string }
	| { phase: "running"; startedAtMs: number; pid: number | undefined }
	| {
			phase: "terminated";
			exitCode: number;
			signal?: number;
			/** One word for machines. */
			reason: string;
			message?: string;
			/** Absent for a container that never ran. */
			startedAtMs?: number;
			finishedAtMs: number;
			pid?: number | undefined;
	  };

/** Kubernetes' limit of a termination message. */
const maxMessageBytes = 4096;
/** FallbackToLogsOnError takes at most 2,048 bytes or 80 lines of the log (Kubernetes API, terminationMessagePolicy). */
const maxLogBytes = 2048;
const maxLogLines = 80;
/** Enough for the longest record of a log, and for the timestamps of 80 short ones. */
const maxTailBytes = 64 * 1024;

/**
 * The termination message of a container that ended: the content of its message file. When that is empty, the container
 * failed and the policy allows it, the end of its log. Undefined when both are empty.
 */
export async function terminationMessage(
	container: { terminationMessagePolicy?: string },
	files: { message: string; log: string },
	exitCode: number,
): Promise<string | undefined> {
	const message = await readEnd(files.message, maxMessageBytes, "start");
	if (message) return message;
	const fallsBack =
		container.terminationMessagePolicy === "FallbackToLogsOnError";
	if (!fallsBack || exitCode === 0) return undefined;
	const lines = (await readEnd(files.log, maxTailBytes, "end"))
		.split("\n")
		.slice(-maxLogLines - 1)
		.map((line) => parseRecord(Buffer.from(`${line}\n`))?.content.toString())
		.filter((content) => content !== undefined)
		.join("");
	return lines.slice(-maxLogBytes) || undefined;
}

/** The first or the last bytes of a file as text; empty when there is no such file. */
async function readEnd(
	path: string,
	maxBytes: number,
	end: "start" | "end",
): Promise<string> {
	const file = await open(path).catch(() => undefined);
	if (!file) return "";
	try {
		const { size } = await file.stat();
		const position = end === "start" ? 0 : Math.max(0, size - maxBytes);
		const { buffer, bytesRead } = await file.read(
			Buffer.alloc(maxBytes),
			0,
			maxBytes,
			position,
		);
		return buffer.toString("utf8", 0, bytesRead);
	} finally {
		await file.close();
	}
}
