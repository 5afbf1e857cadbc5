import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject, vi } from "vitest";
import { identifyProcess } from "../local/process-identity.ts";
import { KubeClient } from "../operator/kube/client.ts";
import { type Job, kinds, type Pod } from "../operator/kube/kinds.ts";
import { loadKubeConfig } from "../operator/kube/kube-config.ts";
import { kubectl } from "./kubectl.ts";
import { newNamespace } from "./new-namespace.ts";
import { startProcessNode, type TestProcessNode } from "./process-node.ts";

type PodSpec = NonNullable<Pod["spec"]>;
type Container = PodSpec["containers"][number];
type JobSpec = NonNullable<Job["spec"]>;

/** A process node whose `tidemill` is a stand-in, and Pods and Jobs for it in a namespace of their own. */
export class ProcessNodeFixture {
	readonly client = KubeClient.fromConfig(loadKubeConfig(inject("kubeconfig")));
	readonly namespace = `process-node-${randomBytes(4).toString("hex")}`;
	/** For what Pods leave. */
	readonly scratch: string;
	readonly node: TestProcessNode;

	constructor(scratch: string, node: TestProcessNode) {
		this.scratch = scratch;
		this.node = node;
	}

	static async start(): Promise<ProcessNodeFixture> {
		const scratch = await mkdtemp(join(tmpdir(), "tidemill-test-command-"));
		const command = join(scratch, "tidemill");
		await writeFile(command, tidemill);
		await chmod(command, 0o755);
		const node = await startProcessNode({ image, tidemill: command });
		const fixture = new ProcessNodeFixture(scratch, node);
		await newNamespace(fixture.client, fixture.namespace);
		return fixture;
	}

	async stop(): Promise<void> {
		await this.client.delete(kinds.namespace, this.namespace);
		await this.node.stop();
		await rm(this.scratch, { recursive: true, force: true });
	}

	createPod(
		name: string,
		spec: PodSpec,
		labels: Record<string, string> = {},
	): Promise<Pod> {
		const metadata = { name, namespace: this.namespace, labels };
		return this.client.create<Pod>(kinds.pod, { metadata, spec });
	}

	createJob(
		name: string,
		podSpec: PodSpec,
		spec: Partial<JobSpec> = {},
	): Promise<Job> {
		const metadata = { name, namespace: this.namespace };
		return this.client.create<Job>(kinds.job, {
			metadata,
			spec: { ...spec, template: { spec: podSpec } } as JobSpec,
		});
	}

	async deletePod(name: string): Promise<void> {
		await this.client.delete(kinds.pod, name, this.namespace);
	}

	pod(name: string): Promise<Pod | undefined> {
		return this.client.get(kinds.pod, name, this.namespace);
	}

	async podsOf(job: string): Promise<Pod[]> {
		const { items } = await this.client.list(kinds.pod, {
			namespace: this.namespace,
			labelSelector: `batch.kubernetes.io/job-name=${job}`,
		});
		return items;
	}

	async logs(...args: string[]): Promise<string> {
		const answer = await kubectl(["logs", "-n", this.namespace, ...args]);
		expect(answer).toMatchObject({ exitCode: 0, stderr: "" });
		return answer.stdout;
	}

	untilJob(name: string, condition: "Complete" | "Failed"): Promise<Job> {
		return vi.waitFor(async () => {
			const job = await this.client.get(kinds.job, name, this.namespace);
			const types = job?.status?.conditions?.map(({ type }) => type);
			expect(types).toContain(condition);
			return job!;
		}, wait);
	}

	untilPhase(name: string, phase: string): Promise<Pod> {
		return vi.waitFor(async () => {
			const pod = await this.pod(name);
			expect(pod?.status?.phase).toBe(phase);
			return pod!;
		}, wait);
	}

	/** Resolves with the process id that the stand-in printed. */
	untilRunning(pod: string): Promise<number> {
		return vi.waitFor(async () => {
			const match = /^running (\d+)$/m.exec(await this.logs(pod));
			expect(match).not.toBeNull();
			return Number(match![1]);
		}, wait);
	}

	untilGone(name: string): Promise<void> {
		return vi.waitFor(
			async () => expect(await this.pod(name)).toBeUndefined(),
			wait,
		);
	}
}

export const wait = { timeout: 120_000, interval: 50 };

/** A Pod with one container, `main`, that runs the stand-in with these arguments. */
export function podSpec(
	args: string[],
	container: Partial<Container> = {},
	spec: Partial<PodSpec> = {},
): PodSpec {
	return {
		restartPolicy: "Never",
		automountServiceAccountToken: false,
		...spec,
		containers: [
			{ name: "main", image, command: ["tidemill"], args, ...container },
		],
	};
}

export function isAlive(pid: number): boolean {
	return identifyProcess(pid) !== undefined;
}

const image = "tidemill.test/process-node:1";

/** What runs as `tidemill` here: a stand-in that does what its first argument says. */
const tidemill = `#!/bin/sh
case "$1" in
succeed)
	echo one; echo two; printf three
	printf '{"rows":3}' > "$RESULT" ;;
show)
	env | sort
	shift
	for file; do echo "$file: $(cat "$file")"; done
	if [ -n "$STORE" ]; then echo kept > "$STORE/file"; fi ;;
permanent) echo "of no use" >&2; exit 65 ;;
wait)
	trap 'echo asked to end; exit 3' TERM
	echo "running $$"
	while :; do sleep 0.05; done ;;
stubborn)
	trap '' TERM
	echo "running $$"
	while :; do sleep 0.05; done ;;
load)
	echo '{"daysDone":1,"daysTotal":3,"rowsDone":10,"rowsTotal":30}'
	while [ ! -e "$FINISH" ]; do sleep 0.05; done
	echo '{"daysDone":3,"daysTotal":3,"rowsDone":30,"rowsTotal":30}' ;;
once)
	if [ -e "$STORE/again" ]; then exit 0; fi
	touch "$STORE/again"
	echo "running $$"
	while :; do sleep 0.05; done ;;
esac
`;
