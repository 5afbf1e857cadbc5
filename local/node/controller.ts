import { rm } from "node:fs/promises";
import {
	hasReason,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import { kinds, type Pod } from "../../packages/kube/kinds.ts";
import {
	type Controller,
	type ReconcileResult,
	soonest,
} from "../../packages/kube/reconcile/controller.ts";
import type { KubeEventRecorder } from "../../packages/kube/reconcile/kube-events.ts";
import type { ObjectKey } from "../../packages/kube/resource.ts";
import type { Informer } from "../../packages/kube/watch/informer.ts";
import type { Logger } from "../../packages/service/log.ts";
import { backoffMs } from "../../packages/service/pause.ts";
import { decide } from "./decide.ts";
import type { LeftBehind } from "./left-behind.ts";
import { planProcesses } from "./plan.ts";
import {
	failures,
	identityOf,
	type NodeDirectories,
	PodDirectory,
	type PodFailure,
} from "./pod.ts";
import { Sandbox } from "./sandbox.ts";
import { podStatus } from "./status.ts";
import { unsupported } from "./unsupported.ts";
import { ConfigError, sourcesOf } from "./volumes.ts";

interface PodControllerOptions {
	client: KubeClient;
	/** The Pods bound to this node. */
	pods: Informer<Pod>;
	events: KubeEventRecorder;
	directories: NodeDirectories;
	/** Pods that a former node process left on the disk. */
	leftBehind: readonly LeftBehind[];
	image: string;
	/** Path of the command that the image has as `tidemill`. */
	tidemill: string;
	/** Asks to reconcile a Pod again. */
	enqueue: (key: ObjectKey) => void;
	log: Logger;
}

/** Runs the Pods bound to this node, as kubelet does. */
export class PodController implements Controller {
	readonly name = "pod";
	readonly #options: PodControllerOptions;
	/** By uid. */
	readonly #sandboxes = new Map<string, Sandbox>();
	readonly #leftBehind: Map<string, LeftBehind>;

	constructor(options: PodControllerOptions) {
		this.#options = options;
		this.#leftBehind = new Map(
			options.leftBehind.map((identity) => [identity.uid, identity]),
		);
	}

	/** The Pod's sandbox on this machine, if it has one. */
	sandbox(uid: string): Sandbox | undefined {
		return this.#sandboxes.get(uid);
	}

	async reconcile(key: ObjectKey): Promise<ReconcileResult | undefined> {
		const pod = this.#options.pods.get(key.namespace, key.name);
		await this.#forgetOthers(key, pod?.metadata.uid);
		if (!pod) return undefined;
		const uid = pod.metadata.uid!;
		const nowMs = Date.now();
		const action = decide(
			pod,
			this.#sandboxes.get(uid)?.local,
			{
				startedBefore:
					!this.#sandboxes.has(uid) &&
					(this.#leftBehind.get(uid)?.wasStarted ||
						pod.status?.phase === "Running"),
				unsupported: unsupported(pod, this.#options.image),
			},
			nowMs,
		);
		switch (action.do) {
			case "rest":
				return undefined;
			case "delete":
				await this.#options.client.delete(kinds.pod, key.name, key.namespace, {
					uid,
					gracePeriodSeconds: 0,
				});
				return undefined;
			case "start": {
				const sandbox = this.#sandboxFor(pod);
				const retryMs = await this.#start(pod, sandbox);
				await this.#report(pod, sandbox);
				return soonest(retryMs, waitMs(action.requeueAtMs));
			}
			case "stop": {
				const sandbox = this.#sandboxFor(pod);
				sandbox.stop(action.killAtMs, action.failure, nowMs);
				await this.#report(pod, sandbox);
				return soonest(
					nowMs < action.killAtMs ? waitMs(action.killAtMs) : undefined,
				);
			}
			case "fail": {
				const sandbox = this.#sandboxFor(pod);
				sandbox.fail(action.failure, nowMs);
				await this.#report(pod, sandbox);
				return undefined;
			}
			case "report":
				await this.#report(pod, this.#sandboxFor(pod));
				return soonest(waitMs(action.requeueAtMs));
		}
	}

	/** Ends everything that runs and reports it. Call it once no reconcile runs. */
	async stop(graceMs: number): Promise<void> {
		await Promise.all(
			[...this.#sandboxes.values()].map((sandbox) =>
				this.#stopSandbox(sandbox, failures.nodeStopped, graceMs),
			),
		);
	}

	async #stopSandbox(
		sandbox: Sandbox,
		failure: PodFailure,
		graceMs: number,
	): Promise<void> {
		if (!sandbox.local.isRunning) return;
		const { namespace, name, uid } = sandbox.identity;
		const nowMs = Date.now();
		sandbox.stop(nowMs + graceMs, failure, nowMs);
		const timer = setTimeout(() => void sandbox.kill(), graceMs);
		await sandbox.ended();
		clearTimeout(timer);
		const pod = this.#options.pods.get(namespace, name);
		if (pod?.metadata.uid !== uid) return;
		await this.#report(pod, sandbox).catch((err) =>
			this.#options.log.warn(
				{ err, namespace, name },
				"the end of a Pod could not be reported; the next start of the node reports it",
			),
		);
	}

	#sandboxFor(pod: Pod): Sandbox {
		const identity = identityOf(pod);
		const { directories, enqueue, log } = this.#options;
		const sandbox =
			this.#sandboxes.get(identity.uid) ??
			new Sandbox(pod, new PodDirectory(directories, identity), {
				onEnd: () => enqueue(identity),
				onTrouble: (err, what) => log.warn({ err, ...identity }, what),
			});
		this.#sandboxes.set(identity.uid, sandbox);
		return sandbox;
	}

	/** Returns the milliseconds until a retry when the start failed. */
	async #start(pod: Pod, sandbox: Sandbox): Promise<number | undefined> {
		const { client, directories, events, tidemill } = this.#options;
		try {
			sandbox.start(
				await planProcesses(
					pod,
					sourcesOf(client, pod),
					directories,
					sandbox.directory,
					tidemill,
				),
			);
			return undefined;
		} catch (error) {
			if (!(error instanceof ConfigError)) throw error;
			sandbox.waitFor("CreateContainerConfigError", error.message);
			// A Secret that is created together with its Pod may be a moment later.
			if (sandbox.failedStarts === 3)
				events.record(kinds.pod, pod, {
					type: "Warning",
					reason: "Failed",
					action: "StartContainers",
					note: `Error: ${error.message}`,
				});
			return backoffMs(sandbox.failedStarts, startBackoff);
		}
	}

	async #report(pod: Pod, sandbox: Sandbox): Promise<void> {
		const { states, failure, reported } = sandbox;
		const known = reported ? { ...pod, status: reported } : pod;
		const status = podStatus(known, states, failure, Date.now());
		if (JSON.stringify(status) === JSON.stringify(reported)) return;
		const { name, namespace, uid } = pod.metadata;
		try {
			await this.#options.client.applyStatus(
				kinds.pod,
				{
					metadata: { name, namespace: namespace!, uid: uid! },
					status,
				},
				{ fieldManager: "tidemill-process-node" },
			);
		} catch (error) {
			// The Pod was deleted meanwhile, and perhaps created again: nobody needs this report.
			if (!hasReason(error, "NotFound", "Conflict")) throw error;
		}
		sandbox.reported = status;
		if (sandbox.local.hasEnded) await sandbox.removeVolumes();
	}

	/** Ends and removes former Pods of this name. */
	async #forgetOthers(
		{ namespace, name }: ObjectKey,
		uid: string | undefined,
	): Promise<void> {
		const known = [
			...[...this.#sandboxes.values()].map(({ identity }) => identity),
			...this.#leftBehind.values(),
		];
		for (const identity of known) {
			const isOther =
				identity.namespace === namespace &&
				identity.name === name &&
				identity.uid !== uid;
			if (!isOther) continue;
			await this.#sandboxes.get(identity.uid)?.kill();
			const { path } = new PodDirectory(this.#options.directories, identity);
			await rm(path, { recursive: true, force: true });
			this.#sandboxes.delete(identity.uid);
			this.#leftBehind.delete(identity.uid);
		}
	}
}

const startBackoff = { baseMs: 100, maxMs: 5_000 };

function waitMs(instantMs: number | undefined): number | undefined {
	return instantMs && Math.max(0, instantMs - Date.now());
}
