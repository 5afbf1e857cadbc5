import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import type { Pod } from "../../packages/kube/kinds.ts";
import {
	ContainerProcess,
	type ContainerState,
	type ProcessEnd,
	type ProcessSpec,
	terminationMessage,
} from "./container.ts";
import { ContainerLog } from "./container-log.ts";
import type { LocalPod } from "./decide.ts";
import type { LogSource } from "./log-server.ts";
import {
	identityOf,
	type NodeDirectories,
	PodDirectory,
	type PodFailure,
	type PodIdentity,
	type PodStatus,
} from "./pod.ts";

/** One Pod on this machine: its processes and their states, in memory. Its files are in a {@link PodDirectory}. */
export class Sandbox {
	readonly identity: PodIdentity;
	readonly directory: PodDirectory;
	readonly states = new Map<string, ContainerState>();
	/** The logs of started containers. */
	readonly logs = new Map<string, ContainerLog>();
	/** Why the node ends the Pod. */
	failure: PodFailure | undefined;
	/** How many starts have failed in a row. */
	failedStarts = 0;
	/** The last reported status. */
	reported: PodStatus | undefined;
	readonly #pod: Pod;
	readonly #processes = new Map<string, ContainerProcess>();
	/** Each settles when a container has ended and its state is known. */
	readonly #ends: Promise<void>[] = [];
	readonly #observer: SandboxObserver;
	#killAtMs: number | undefined;

	constructor(pod: Pod, directory: PodDirectory, observer: SandboxObserver) {
		this.#pod = pod;
		this.identity = identityOf(pod);
		this.directory = directory;
		this.#observer = observer;
	}

	get local(): LocalPod {
		const states = [...this.states.values()];
		return {
			isRunning: states.some(({ phase }) => phase === "running"),
			hasEnded:
				states.length > 0 &&
				states.every(({ phase }) => phase === "terminated"),
			killAtMs: this.#killAtMs,
		};
	}

	/** Starts every container. A container that can't start counts as ended. */
	start(specs: Map<string, ProcessSpec>): void {
		for (const [name, spec] of specs)
			try {
				this.#startContainer(name, spec);
			} catch (error) {
				this.logs.get(name)?.close(Date.now());
				const message = (error as Error).message;
				const finishedAtMs = Date.now();
				this.states.set(name, { ...startError, message, finishedAtMs });
				this.#observer.onEnd();
			}
	}

	#startContainer(name: string, spec: ProcessSpec): void {
		const { onEnd, onTrouble } = this.#observer;
		const log = new ContainerLog(this.directory.log(name), (error) =>
			onTrouble(error, `output of container ${name} was lost`),
		);
		this.logs.set(name, log);
		const startedAtMs = Date.now();
		const container = new ContainerProcess(spec, log);
		const { pid } = container;
		this.#processes.set(name, container);
		this.states.set(name, { phase: "running", startedAtMs, pid });
		this.#ends.push(
			container.ended
				.then((end) => this.#terminated(name, startedAtMs, pid, end))
				.finally(onEnd),
		);
	}

	/** Records why no container could start yet. */
	waitFor(reason: string, message: string): void {
		this.failedStarts++;
		for (const { name } of this.#pod.spec!.containers)
			this.states.set(name, { phase: "waiting", reason, message });
	}

	/** Sends SIGTERM to the containers, and kills them at `killAtMs`. A later call may change the time. */
	stop(killAtMs: number, failure: PodFailure | undefined, nowMs: number): void {
		const isFirst = this.#killAtMs === undefined;
		this.#killAtMs = killAtMs;
		this.failure ??= failure;
		for (const container of this.#running()) {
			if (isFirst) container.terminate();
			if (nowMs >= killAtMs) container.kill();
		}
	}

	/** Fails a Pod that has no running container. */
	fail(failure: PodFailure, nowMs: number): void {
		this.failure = failure;
		for (const { name } of this.#pod.spec!.containers)
			this.states.set(name, {
				phase: "terminated",
				// As kubelet reports a container with an unknown end.
				exitCode: 137,
				reason: failure.reason,
				message: failure.message,
				finishedAtMs: nowMs,
			});
	}

	/** Kills the running containers. Settles when they have ended. */
	async kill(): Promise<void> {
		for (const container of this.#running()) container.kill();
		await this.ended();
	}

	/** Settles when every started container has ended and its state is known. */
	async ended(): Promise<void> {
		await Promise.all(this.#ends);
	}

	/** Removes the volumes, so that no Secret outlives its container. */
	async removeVolumes(): Promise<void> {
		await rm(this.directory.volumes, { recursive: true, force: true });
	}

	#running(): ContainerProcess[] {
		return [...this.#processes].flatMap(([name, container]) =>
			this.states.get(name)?.phase === "running" ? [container] : [],
		);
	}

	async #terminated(
		name: string,
		startedAtMs: number,
		pid: number | undefined,
		end: ProcessEnd,
	): Promise<void> {
		const finishedAtMs = Date.now();
		if ("startError" in end) {
			const message = end.startError;
			this.states.set(name, { ...startError, message, finishedAtMs });
			return;
		}
		const { exitCode, signal } = end;
		const message = await terminationMessage(
			this.#pod.spec!.containers.find((other) => other.name === name)!,
			{
				message: this.directory.terminationMessage(name),
				log: this.directory.log(name),
			},
			exitCode,
		).catch((error) => {
			this.#observer.onTrouble(
				error,
				`the termination message of container ${name} can't be read`,
			);
			return undefined;
		});
		this.states.set(name, {
			phase: "terminated",
			exitCode,
			...(signal !== undefined && { signal }),
			reason: exitCode === 0 ? "Completed" : "Error",
			...(message && { message }),
			startedAtMs,
			finishedAtMs,
			pid,
		});
	}
}

interface SandboxObserver {
	/** A container has ended and its state is known. */
	onEnd(): void;
	/** Something was lost that a person should know about. */
	onTrouble(error: unknown, what: string): void;
}

/** As kubelet reports a process that couldn't start. */
const startError = {
	phase: "terminated",
	exitCode: 128,
	reason: "StartError",
} as const;

/**
 * Where the log of a Pod's container is.
 * @param pod the Pod of this name that is bound to this node, if there is one.
 * @param sandboxOf finds the sandbox by uid. After a restart of the node there is only the file.
 */
export function findLog(
	pod: Pod | undefined,
	sandboxOf: (uid: string) => Sandbox | undefined,
	directories: NodeDirectories,
	asked: { namespace: string; name: string; container: string },
): LogSource {
	const { namespace, name, container } = asked;
	if (!pod)
		return { status: 404, message: `pod "${namespace}/${name}" not found` };
	if (!pod.spec?.containers.some((other) => other.name === container))
		return {
			status: 404,
			message: `container "${container}" not found in pod "${name}"`,
		};
	const identity = identityOf(pod);
	const sandbox = sandboxOf(identity.uid);
	const path = new PodDirectory(directories, identity).log(container);
	if (existsSync(path)) return { path, growing: sandbox?.logs.get(container) };
	const state = sandbox?.states.get(container);
	const reason = state?.phase === "running" ? undefined : state?.reason;
	return {
		status: 400,
		message: `container "${container}" in pod "${name}" is waiting to start: ${reason ?? "ContainerCreating"}`,
	};
}
