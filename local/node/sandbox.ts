import { rm } from "node:fs/promises";
import type { Pod } from "../../operator/kube/kinds.ts";
import { ContainerLog } from "./container-log.ts";
import {
	ContainerProcess,
	type ProcessEnd,
	type ProcessSpec,
} from "./container-process.ts";
import type { ContainerState, Failure } from "./container-state.ts";
import type { Local } from "./decide.ts";
import {
	identityOf,
	type PodDirectory,
	type PodIdentity,
} from "./pod-directory.ts";
import type { PodStatus } from "./pod-spec.ts";
import { terminationMessage } from "./termination-message.ts";

/** One Pod on this machine: its processes, and what became of them. In memory; {@link PodDirectory} is what stays. */
export class Sandbox {
	readonly identity: PodIdentity;
	readonly directory: PodDirectory;
	readonly states = new Map<string, ContainerState>();
	/** Of the containers that were started. */
	readonly logs = new Map<string, ContainerLog>();
	/** Why the node ends it. */
	failure: Failure | undefined;
	/** How often a start failed in a row. */
	failedStarts = 0;
	/** What the apiserver was told last. */
	reported: PodStatus | undefined;
	readonly #pod: Pod;
	readonly #processes = new Map<string, ContainerProcess>();
	/** Settle when a container has ended and its state is known. */
	readonly #ends: Promise<void>[] = [];
	readonly #onEnd: () => void;
	#killAtMs: number | undefined;

	/** @param onEnd called when a container has ended and its state is known. */
	constructor(pod: Pod, directory: PodDirectory, onEnd: () => void) {
		this.#pod = pod;
		this.identity = identityOf(pod);
		this.directory = directory;
		this.#onEnd = onEnd;
	}

	get local(): Local {
		const states = [...this.states.values()];
		return {
			isRunning: states.some(({ phase }) => phase === "running"),
			hasEnded:
				states.length > 0 &&
				states.every(({ phase }) => phase === "terminated"),
			killAtMs: this.#killAtMs,
		};
	}

	/** Starts every container, or none when this throws. */
	start(specs: Map<string, ProcessSpec>): void {
		for (const [name, spec] of specs) {
			const log = new ContainerLog(this.directory.log(name));
			const startedAtMs = Date.now();
			const container = new ContainerProcess(spec, log);
			const { pid } = container;
			this.logs.set(name, log);
			this.#processes.set(name, container);
			this.states.set(name, { phase: "running", startedAtMs, pid });
			this.#ends.push(
				container.ended
					.then((end) => this.#terminated(name, startedAtMs, pid, end))
					.finally(this.#onEnd),
			);
		}
	}

	/** Why no container could be started yet. */
	waitFor(reason: string, message: string): void {
		this.failedStarts++;
		for (const { name } of this.#pod.spec!.containers)
			this.states.set(name, { phase: "waiting", reason, message });
	}

	/** Asks the containers to end, and kills them when it is time. May be called again, with another time. */
	stop(killAtMs: number, failure: Failure | undefined, nowMs: number): void {
		const isFirst = this.#killAtMs === undefined;
		this.#killAtMs = killAtMs;
		this.failure ??= failure;
		for (const container of this.#running()) {
			if (isFirst) container.terminate();
			if (nowMs >= killAtMs) container.kill();
		}
	}

	/** Gives up a Pod of which nothing runs. */
	fail(failure: Failure, nowMs: number): void {
		this.failure = failure;
		for (const { name } of this.#pod.spec!.containers)
			this.states.set(name, {
				phase: "terminated",
				// As kubelet reports a container of which nothing is known.
				exitCode: 137,
				reason: failure.reason,
				message: failure.message,
				finishedAtMs: nowMs,
			});
	}

	/** Kills what runs; settles when it is gone. */
	async kill(): Promise<void> {
		for (const container of this.#running()) container.kill();
		await this.ended();
	}

	/** Settles when every container that was started has ended and its state is known. */
	async ended(): Promise<void> {
		await Promise.all(this.#ends);
	}

	/** Removes what only a running container needs: Secrets shall not lie about. */
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
		{ exitCode, signal, startError }: ProcessEnd,
	): Promise<void> {
		const finishedAtMs = Date.now();
		const message =
			startError ??
			(await terminationMessage(
				this.#pod.spec!.containers.find((other) => other.name === name)!,
				{
					message: this.directory.terminationMessage(name),
					log: this.directory.log(name),
				},
				exitCode,
			));
		const reason = exitCode === 0 ? "Completed" : "Error";
		this.states.set(name, {
			phase: "terminated",
			exitCode,
			...(signal !== undefined && { signal }),
			reason: startError ? "StartError" : reason,
			...(message && { message }),
			startedAtMs,
			finishedAtMs,
			pid,
		});
	}
}
